// Generations under a constraint: whatever the logits are, the text stays in the language.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "gpu_worker/scheduler/log_probs.h"
#include "gpu_worker/scheduler/scheduler.h"
#include "tests/common/automaton/sample_automata.h"
#include "tests/gpu_worker/constraint/tiny_vocabulary.h"
#include "tests/gpu_worker/scheduler/expected.h"
#include "tests/gpu_worker/scheduler/fake_engine.h"

namespace hearth {
namespace {

constexpr int kVocab = 4096;

Automaton Digits() {
  Automaton automaton = OneRule();
  const int32_t some = automaton.AddState(true);
  automaton.AddBytes(0, '0', '9', some);
  automaton.AddBytes(some, '0', '9', some);
  return automaton;
}

Automaton NameObject() {
  Automaton automaton = OneRule();
  const int32_t inside = automaton.AddText(0, "{\"name\": \"", automaton.AddState());
  automaton.AddBytes(inside, 'a', 'z', inside);
  automaton.AddText(inside, "\"}", automaton.AddState(true));
  return automaton;
}

// One call or more: tags around letters.
Automaton Calls() {
  Automaton automaton = OneRule();
  const int32_t inside = automaton.AddState(), after = automaton.AddState(true);
  automaton.AddToken(0, kToolCall, inside);
  automaton.AddBytes(inside, 'a', 'z', inside);
  automaton.AddToken(inside, kToolCallEnd, after);
  automaton.AddEmpty(after, 0);
  return automaton;
}

class ConstrainedTest : public testing::Test {
 protected:
  void Start(FakeEngine::Shape shape = {.pool_tokens = 65536, .vocab = kVocab}) {
    shape_ = shape;
    engine_ = std::make_unique<FakeEngine>(shape);
    queue_ = std::make_unique<RequestQueue>(512);
    scheduler_ = std::make_unique<Scheduler>(*engine_, *queue_, observer_, Scheduler::Options{}, [](Request&) {});
  }

  static RequestSpec Constrained(const Automaton& automaton, uint64_t seed, int64_t max_tokens = 200,
                                 std::vector<int32_t> stops = {kEndOfText, kObservation}) {
    RequestSpec spec = Greedy(Tokens(20, seed, kVocab), max_tokens, stops);
    auto& generate = std::get<GenerateSpec>(spec.kind);
    generate.sampling.temperature = 1;
    generate.sampling.seed = seed;
    generate.constraint = ConstraintSpec{.program = std::make_shared<ConstraintProgram>(
                                             automaton, TinyVocabulary(), ConstraintProgram::Stops{.ids = stops})};
    return spec;
  }
  static GenerateSpec& Wish(RequestSpec& spec) { return std::get<GenerateSpec>(spec.kind); }

  std::vector<Received> Run(std::vector<RequestSpec> specs) {
    std::vector<std::shared_ptr<Request>> requests;
    for (RequestSpec& spec : specs) {
      requests.push_back(std::make_shared<Request>(std::move(spec)));
      requests.back()->submitted = Deadline::Clock::now();
      EXPECT_TRUE(queue_->Push(requests.back()).ok());
    }
    std::vector<Received> received(requests.size());
    bool worked = true;
    while (worked) {
      worked = scheduler_->RunOnce();
      for (size_t i = 0; i < requests.size(); ++i) received[i].TakeAll(requests[i]->outbox);
    }
    return received;
  }
  Received RunOne(RequestSpec spec) { return Run({std::move(spec)})[0]; }

  // Each seed's text is in the language when it stopped, and begins one when it was cut.
  void ExpectInLanguage(const Automaton& automaton, const std::string& expression, int least_stopped) {
    std::vector<RequestSpec> specs;
    for (uint64_t seed = 0; seed < 200; ++seed) specs.push_back(Constrained(automaton, seed));
    Wish(specs[0]).sampling.temperature = 0;
    Wish(specs[1]).sampling.top_p = 0.5f;
    Wish(specs[2]).sampling.top_k = 3;
    const std::regex regex(expression);
    int stopped = 0;
    std::set<std::string> texts;
    for (const Received& got : Run(std::move(specs))) {
      ASSERT_TRUE(got.outcome.status.ok()) << got.outcome.status.ToString();
      const std::string text = TinyText(got.tokens);
      texts.insert(text);
      if (got.outcome.reason == FinishReason::kStop) {
        ++stopped;
        EXPECT_TRUE(got.outcome.stop_id.has_value());
        EXPECT_TRUE(std::regex_match(text, regex)) << text;
      } else {
        EXPECT_EQ(got.tokens.size(), 200u);
        std::smatch match;
        EXPECT_TRUE(std::regex_search(text, match, std::regex("[a-z0-9>]$"))) << text;
      }
    }
    EXPECT_GE(stopped, least_stopped);
    EXPECT_GT(texts.size(), 1u);
  }

  FakeEngine::Shape shape_;
  LoopObserver observer_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<RequestQueue> queue_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(ConstrainedTest, DigitsOnly) {
  Start();
  ExpectInLanguage(Digits(), "[0-9]+", 100);
}

TEST_F(ConstrainedTest, AnObjectWithAName) {
  Start();
  ExpectInLanguage(NameObject(), R"(\{"name": "[a-z]*"\})", 0);
}

TEST_F(ConstrainedTest, OneOfTwoTexts) {
  Start();
  ExpectInLanguage(Choice({"yes, please", "no"}), "yes, please|no", 200);
}

TEST_F(ConstrainedTest, CallsInTags) {
  Start();
  ExpectInLanguage(Calls(), "(<4083>[a-z]*<4084>)+", 0);
}

TEST_F(ConstrainedTest, EndsByItselfWithoutStopIds) {
  Start();
  const Received got = RunOne(Constrained(Choice({"yes", "no"}), 5, 200, {}));
  ASSERT_TRUE(got.outcome.status.ok()) << got.outcome.status.ToString();
  EXPECT_EQ(got.outcome.reason, FinishReason::kStop);
  EXPECT_FALSE(got.outcome.stop_id.has_value());
  EXPECT_EQ(got.outcome.usage.completion_tokens, static_cast<int64_t>(got.tokens.size()));
  EXPECT_THAT(TinyText(got.tokens), testing::AnyOf("yes", "no"));
  EXPECT_EQ(scheduler_->counts().completion_tokens, got.tokens.size());

  // Even at once.
  const Received empty = RunOne(Constrained(OneRule(true), 5, 200, {}));
  EXPECT_TRUE(empty.outcome.status.ok());
  EXPECT_EQ(empty.outcome.reason, FinishReason::kStop);
  EXPECT_TRUE(empty.tokens.empty());
}

TEST_F(ConstrainedTest, TheLengthLimitCutsHonestly) {
  Start();
  const Received got = RunOne(Constrained(Choice({"a rather long text that takes several tokens"}), 3, 2));
  ASSERT_TRUE(got.outcome.status.ok());
  EXPECT_EQ(got.outcome.reason, FinishReason::kLength);
  EXPECT_EQ(got.tokens.size(), 2u);
  EXPECT_EQ(std::string("a rather long text that takes several tokens").rfind(TinyText(got.tokens), 0), 0u);
}

TEST_F(ConstrainedTest, BeginsBehindTheThinking) {
  Start();
  RequestSpec spec = Constrained(Choice({"yes", "no"}), 11);
  Wish(spec).constraint->start_after = kThinkEnd;
  Wish(spec).forced_after = ForcedAfter{.n_tokens = 30, .ids = {kThinkEnd}, .unless_seen = kThinkEnd};
  const Received got = RunOne(spec);
  ASSERT_TRUE(got.outcome.status.ok()) << got.outcome.status.ToString();
  ASSERT_GT(got.tokens.size(), 31u);
  EXPECT_EQ(got.tokens[30], kThinkEnd);
  EXPECT_THAT(TinyText({got.tokens.begin() + 31, got.tokens.end()}), testing::AnyOf("yes", "no"));
  // What comes before is what comes without a constraint.
  Wish(spec).constraint.reset();
  const Received unbound = RunOne(spec);
  EXPECT_TRUE(std::equal(got.tokens.begin(), got.tokens.begin() + 31, unbound.tokens.begin()));
}

TEST_F(ConstrainedTest, MustBeginKeepsStopIdsAway) {
  Start();
  RequestSpec spec = Constrained(Choice({"yes"}), 12, 10);
  std::vector<std::pair<int32_t, float>>& bias = Wish(spec).sampling.logit_bias;
  bias = {{kEndOfText, 100.0f}};
  Wish(spec).constraint->start_after = kThinkEnd;
  EXPECT_EQ(RunOne(spec).outcome.stop_id, kEndOfText);
  Wish(spec).constraint->must_begin = true;
  const Received got = RunOne(spec);
  EXPECT_EQ(got.outcome.reason, FinishReason::kLength);
  EXPECT_EQ(got.tokens.size(), 10u);
}

TEST_F(ConstrainedTest, ForcedIdsAreReadAndChecked) {
  Start();
  const auto& all = TinyVocabulary()->bytes.ordinary;
  const auto three = static_cast<int32_t>(std::find(all.begin(), all.end(), "3") - all.begin());
  RequestSpec spec = Constrained(Digits(), 4);
  Wish(spec).forced_after = ForcedAfter{.n_tokens = 0, .ids = {three, three}, .unless_seen = {}};
  Received got = RunOne(spec);
  ASSERT_TRUE(got.outcome.status.ok());
  EXPECT_EQ(TinyText(got.tokens).substr(0, 2), "33");
  Wish(spec).forced_after->ids = {kToolCall};
  got = RunOne(spec);
  EXPECT_EQ(got.outcome.status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(got.outcome.status.param(), "forced_after");
  Wish(spec).forced_after->ids = {kEndOfText};
  EXPECT_EQ(RunOne(spec).outcome.status.param(), "forced_after") << "the text cannot end before it begins";
}

TEST_F(ConstrainedTest, SaysWhatNobodyCanDo) {
  Start();
  Automaton impossible = OneRule();
  impossible.AddToken(0, kVocab + 1, impossible.AddState(true));
  EXPECT_EQ(RunOne(Constrained(impossible, 1)).outcome.status.code(), StatusCode::kInternal);
  // Bans that leave nothing of the mask.
  RequestSpec spec = Constrained(Choice({"~"}), 1);
  for (int32_t id = 0; id < kVocab; ++id) {
    if (TinyText({id}) == "~") Wish(spec).sampling.logit_bias.push_back({id, -100.0f});
  }
  ASSERT_FALSE(Wish(spec).sampling.logit_bias.empty());
  const Received got = RunOne(spec);
  EXPECT_EQ(got.outcome.status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(got.outcome.status.param(), "logit_bias");
}

TEST_F(ConstrainedTest, LogProbabilitiesStayRaw) {
  Start();
  RequestSpec spec = Constrained(Digits(), 6, 5);
  Wish(spec).top_logprobs = 2;
  auto request = std::make_shared<Request>(spec);
  ASSERT_TRUE(queue_->Push(request).ok());
  while (scheduler_->RunOnce()) {
  }
  std::vector<int32_t> so_far = spec.tokens;
  std::vector<float> logits(kVocab);
  int compared = 0;
  while (auto output = request->outbox.Pop()) {
    const auto* token = std::get_if<TokenOutput>(&*output);
    if (token == nullptr) continue;
    FakeEngine::Logits(StateAfter(so_far), logits);
    const RowLogProbs row(logits);
    EXPECT_EQ(token->logprob, row.Of(token->id));
    EXPECT_EQ(token->top, row.Top(2));
    so_far.push_back(token->id);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// The same request gives the same text alone, among others, and when its pages are taken away in between; a program
// that others have used, too.
TEST_F(ConstrainedTest, NeighboursAndPausesChangeNothing) {
  // Exactly 1,500 letters.
  Automaton letters = OneRule();
  for (int32_t i = 0; i < 1500; ++i) letters.AddBytes(i, 'a', 'z', letters.AddState(i == 1499));
  const auto program =
      std::make_shared<ConstraintProgram>(letters, TinyVocabulary(), ConstraintProgram::Stops{.ids = {kEndOfText}});
  std::vector<RequestSpec> specs;
  for (uint64_t seed = 0; seed < 6; ++seed) specs.push_back(Constrained(letters, seed, 1500, {kEndOfText}));
  Start();
  std::vector<Received> alone;
  for (const RequestSpec& spec : specs) alone.push_back(RunOne(spec));

  for (RequestSpec& spec : specs) Wish(spec).constraint->program = program;
  // Two begin and do not both fit to their end.
  Start({.slots = 4, .pool_tokens = 720, .page_tokens = 16, .vocab = kVocab});
  int64_t paused = 0;
  engine_->on_decode = [&](auto) { paused = std::max(paused, scheduler_->counts().paused); };
  const std::vector<Received> together = Run(specs);
  int64_t tokens = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    ASSERT_TRUE(together[i].outcome.status.ok()) << together[i].outcome.status.ToString();
    EXPECT_EQ(together[i].tokens, alone[i].tokens) << i;
    EXPECT_EQ(together[i].outcome.stop_id, alone[i].outcome.stop_id);
    EXPECT_EQ(TinyText(alone[i].tokens).size(), 1500u);
    tokens += static_cast<int64_t>(alone[i].tokens.size());
  }
  EXPECT_GT(paused, 0) << tokens << " tokens";
}

}  // namespace
}  // namespace hearth
