#include "gpu_worker/service/parse_request.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hearth/v1/engine.pb.h"
#include "tests/common/automaton/sample_automata.h"

namespace hearth {
namespace {

RequestLimits Limits() {
  RequestLimits limits{.vocab_size = 100, .context = 50};
  limits.defaults.eos_ids = {7, 9};
  limits.defaults.temperature = 0.75f;
  limits.defaults.top_p = 0.5f;
  return limits;
}

v1::GenerateRequest Prompt(int count = 3) {
  v1::GenerateRequest request;
  for (int i = 0; i < count; ++i) request.add_prompt_ids(i);
  return request;
}

void ExpectRefused(const v1::GenerateRequest& request, const std::string& param,
                   StatusCode code = StatusCode::kInvalidArgument) {
  const auto spec = ParseGenerate(request, Limits(), 1);
  ASSERT_FALSE(spec.ok()) << param;
  EXPECT_EQ(spec.status().code(), code) << spec.status().ToString();
  EXPECT_EQ(spec.status().param(), param) << spec.status().ToString();
}

TEST(ParseGenerate, FillsWhatIsAbsent) {
  const auto spec = ParseGenerate(Prompt(), Limits(), 1234);
  ASSERT_TRUE(spec.ok());
  const GenerateSpec& generate = *spec->generate();
  EXPECT_EQ(generate.max_tokens, 47);
  EXPECT_EQ(generate.stop_ids, (std::vector<int32_t>{7, 9}));
  EXPECT_EQ(generate.sampling.temperature, 0.75f);
  EXPECT_EQ(generate.sampling.top_p, 0.5f);
  EXPECT_EQ(generate.sampling.seed, 1234u);
  EXPECT_EQ(generate.top_logprobs, 0);
  EXPECT_FALSE(generate.forced_after.has_value());
}

TEST(ParseGenerate, TakesWhatIsGiven) {
  v1::GenerateRequest request = Prompt();
  request.set_max_tokens(5);
  request.add_stop_ids(3);
  request.mutable_sampling()->set_temperature(0);
  request.mutable_sampling()->set_top_k(-1);
  request.mutable_sampling()->set_seed(0);
  (*request.mutable_sampling()->mutable_logit_bias())[50] = 2;
  (*request.mutable_sampling()->mutable_logit_bias())[4] = -100;
  request.mutable_forced_after()->set_n_tokens(2);
  request.mutable_forced_after()->add_ids(8);
  request.mutable_forced_after()->set_unless_seen(6);
  const auto spec = ParseGenerate(request, Limits(), 1234);
  ASSERT_TRUE(spec.ok());
  const GenerateSpec& generate = *spec->generate();
  EXPECT_EQ(generate.max_tokens, 5);
  EXPECT_EQ(generate.stop_ids, (std::vector<int32_t>{3}));
  EXPECT_EQ(generate.sampling.temperature, 0);
  EXPECT_EQ(generate.sampling.top_k, 0);
  EXPECT_EQ(generate.sampling.seed, 0u);
  EXPECT_EQ(generate.sampling.logit_bias, (std::vector<std::pair<int32_t, float>>{{4, -100.0f}, {50, 2.0f}}));
  EXPECT_EQ(generate.forced_after->unless_seen, 6);

  request.set_ignore_eos(true);
  EXPECT_TRUE(ParseGenerate(request, Limits(), 1)->generate()->stop_ids.empty());
}

TEST(ParseGenerate, AbsentSamplingFieldsTakeTheModelsDefaults) {
  RequestLimits limits = Limits();
  limits.defaults.temperature = 0.6f;
  limits.defaults.min_p = 0.05f;
  limits.defaults.repetition_penalty = 1.1f;
  v1::GenerateRequest request = Prompt();
  SamplingParams sampling = ParseGenerate(request, limits, 1)->generate()->sampling;
  EXPECT_EQ(sampling.temperature, 0.6f);
  EXPECT_EQ(sampling.min_p, 0.05f);
  EXPECT_EQ(sampling.repetition_penalty, 1.1f);
  request.mutable_sampling()->set_min_p(0);
  EXPECT_EQ(ParseGenerate(request, limits, 1)->generate()->sampling.min_p, 0.0f);
}

TEST(ParseGenerate, ClampsToTheContextAndRefusesPromptsBeyondIt) {
  v1::GenerateRequest request = Prompt(49);
  request.set_max_tokens(1000);
  EXPECT_EQ(ParseGenerate(request, Limits(), 1)->generate()->max_tokens, 1);
  const auto spec = ParseGenerate(Prompt(50), Limits(), 1);
  EXPECT_EQ(spec.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(spec.status().message().find("50 tokens"), std::string::npos);
  ExpectRefused(Prompt(51), "prompt_ids", StatusCode::kFailedPrecondition);
}

TEST(ParseGenerate, RefusesIdsOutsideTheVocabulary) {
  ExpectRefused(v1::GenerateRequest(), "prompt_ids");
  for (int32_t id : {-1, 100, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    v1::GenerateRequest request = Prompt();
    request.add_prompt_ids(id);
    ExpectRefused(request, "prompt_ids");
    request = Prompt();
    request.add_stop_ids(id);
    ExpectRefused(request, "stop_ids");
    request = Prompt();
    (*request.mutable_sampling()->mutable_logit_bias())[id] = 1;
    ExpectRefused(request, "logit_bias");
    request = Prompt();
    request.mutable_forced_after()->add_ids(id);
    ExpectRefused(request, "forced_after.ids");
  }
}

TEST(ParseGenerate, RefusesNumbersOutsideTheirRange) {
  using Set = std::function<void(v1::SamplingParams&, float)>;
  const float nan = std::nanf(""), inf = INFINITY;
  const struct {
    const char* name;
    Set set;
    std::vector<float> bad;
  } cases[] = {
      {"temperature", [](auto& p, float v) { p.set_temperature(v); }, {-0.1f, 2.1f, nan, inf}},
      {"top_p", [](auto& p, float v) { p.set_top_p(v); }, {0, -1, 1.01f, nan}},
      {"min_p", [](auto& p, float v) { p.set_min_p(v); }, {-0.1f, 1.1f, nan}},
      {"repetition_penalty", [](auto& p, float v) { p.set_repetition_penalty(v); }, {0, -1, 1e-38f, 0.0099f, 2.1f, nan}},
      {"presence_penalty", [](auto& p, float v) { p.set_presence_penalty(v); }, {-2.1f, 2.1f, nan}},
      {"frequency_penalty", [](auto& p, float v) { p.set_frequency_penalty(v); }, {-2.1f, 2.1f, nan}},
      {"logit_bias", [](auto& p, float v) { (*p.mutable_logit_bias())[1] = v; }, {-101, 101, nan}},
      {"top_k", [](auto& p, float v) { p.set_top_k(static_cast<int32_t>(v)); }, {-2}},
  };
  for (const auto& c : cases) {
    for (float value : c.bad) {
      v1::GenerateRequest request = Prompt();
      c.set(*request.mutable_sampling(), value);
      ExpectRefused(request, c.name);
    }
  }
}

TEST(ParseGenerate, RefusesWhatCannotWork) {
  v1::GenerateRequest request = Prompt();
  request.set_max_tokens(0);
  ExpectRefused(request, "max_tokens");
  request = Prompt();
  request.set_top_logprobs(-2);
  ExpectRefused(request, "top_logprobs");
  request.set_top_logprobs(kMaxTopIds + 1);
  ExpectRefused(request, "top_logprobs");
  request = Prompt();
  request.mutable_forced_after()->set_n_tokens(1);
  ExpectRefused(request, "forced_after.ids");
  request = Prompt();
  request.set_request_id(std::string(1000, 'x'));
  ExpectRefused(request, "request_id");
  request = Prompt();
  for (int32_t id = 0; id < 100; ++id) (*request.mutable_sampling()->mutable_logit_bias())[id] = -100;
  ExpectRefused(request, "logit_bias");
  request = Prompt();
  for (int i = 0; i <= kMaxStopIds; ++i) request.add_stop_ids(1);
  ExpectRefused(request, "stop_ids");
}

TEST(ParseScore, ChecksRowsAndPath) {
  v1::ScoreRequest request;
  for (int i = 0; i < 20; ++i) request.add_ids(i);
  request.set_first_row(5);
  request.set_top_k(3);
  EXPECT_EQ(ParseScore(request, Limits())->score()->decode_from, 20);

  request.set_path(v1::ScoreRequest::DECODE);
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "decode_from");
  request.set_decode_from(21);
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "decode_from");
  request.set_decode_from(1);
  EXPECT_EQ(ParseScore(request, Limits())->score()->decode_from, 1);
  request.set_path(v1::ScoreRequest::PREFILL);
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "decode_from");
  request.set_decode_from(0);
  request.set_path(static_cast<v1::ScoreRequest::Path>(7));
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "path");
  request.set_path(v1::ScoreRequest::PREFILL);
  request.set_first_row(20);
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "first_row");
  request.set_first_row(0);
  request.set_top_k(kMaxTopIds + 1);
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "top_k");
  request.set_top_k(0);
  request.add_chosen(100);
  EXPECT_EQ(ParseScore(request, Limits()).status().param(), "chosen");
  request.clear_chosen();
  for (int i = 0; i < 31; ++i) request.add_ids(1);
  EXPECT_EQ(ParseScore(request, Limits()).status().code(), StatusCode::kFailedPrecondition);
}

TEST(ParseGenerate, TakesAConstraint) {
  RequestLimits limits = Limits();
  VocabularyBytes bytes{.ordinary = std::vector<std::string>(100), .added = {}};
  bytes.ordinary[5] = "a";
  limits.constraints =
      std::make_shared<ConstraintCache>(std::make_shared<const ConstraintVocabulary>(std::move(bytes)));
  v1::GenerateRequest request = Prompt();
  request.mutable_constraint()->set_automaton(Choice({"aa"}).Serialize());
  request.mutable_constraint()->set_must_begin(true);
  request.mutable_constraint()->set_start_after(6);
  auto spec = ParseGenerate(request, limits, 1);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  ASSERT_TRUE(spec->generate()->constraint.has_value());
  EXPECT_EQ(spec->generate()->constraint->start_after, 6);
  EXPECT_TRUE(spec->generate()->constraint->must_begin);
  EXPECT_TRUE(spec->generate()->constraint->program->IsStop(9)) << "the default stop ids";

  // With ignore_eos they still are no text.
  request.set_ignore_eos(true);
  spec = ParseGenerate(request, limits, 1);
  ASSERT_TRUE(spec.ok());
  EXPECT_TRUE(spec->generate()->stop_ids.empty());
  EXPECT_TRUE(spec->generate()->constraint->program->IsStop(9));

  const auto refused = [&](const std::string& param) {
    const auto result = ParseGenerate(request, limits, 1);
    ASSERT_FALSE(result.ok()) << param;
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(result.status().param(), param);
  };
  request.mutable_constraint()->set_start_after(100);
  refused("constraint.start_after");
  request.mutable_constraint()->set_start_after(9);
  refused("constraint.start_after");
  request.mutable_constraint()->clear_start_after();
  Automaton never_drawn = Choice({"aa"});
  never_drawn.AddToken(0, 100'000, 1);
  request.mutable_constraint()->set_automaton(never_drawn.Serialize());
  refused("constraint.automaton");
  request.mutable_constraint()->set_automaton("HAUT");
  refused("constraint.automaton");
  request.mutable_constraint()->set_automaton(std::string(kMaxAutomatonBytes + 1, 'x'));
  refused("constraint.automaton");
}

TEST(ParseGenerate, RefusesConstraintsWithoutAVocabulary) {
  v1::GenerateRequest request = Prompt();
  request.mutable_constraint()->set_automaton(Choice({"aa"}).Serialize());
  ExpectRefused(request, "constraint", StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hearth
