// Damaged input for everything that reads text from outside. Every input is made from a fixed seed. Passing means: no
// crash, no endless loop, and the promises that hold for any input.
#include <gtest/gtest.h>

#include "gateway/text/detokenizer.h"
#include "gateway/text/hearth_text.h"
#include "gateway/text/output_parser.h"
#include "gateway/text/stop_sequences.h"
#include "tests/gateway/text/parse_case.h"
#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

using Random = std::mt19937;

template <typename List>
const auto& Pick(const List& list, Random& random) {
  return list[random() % std::size(list)];
}

// One random edit: overwrite, remove, repeat or insert.
void Damage(std::string& text, const std::vector<std::string>& inserts, Random& random) {
  const size_t at = text.empty() ? 0 : random() % text.size();
  const size_t length = random() % 12;
  switch (random() % 5) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(random());
      return;
    case 1:
      text.erase(at, length);
      return;
    case 2:
      text.insert(at, text.substr(at, length));
      return;
    case 3:
      text.insert(at, Pick(inserts, random));
      return;
    default:
      text.insert(text.begin() + static_cast<std::ptrdiff_t>(at), static_cast<char>(random()));
  }
}

const std::vector<std::string> kModelParts = {
    "<think>",   "</think>",   "<tool_call>", "</tool_call>",
    "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
    "get",       "city",       "n",           " ",
    "\n",        "5",          "true",        "{\"name\":\"get\",\"arguments\":{}}",
    "\"",        "\\",         "<",           "</",
    "<arg_",     "東",         "\xE6\x9D",    "\xFF",
    "{",         "\u3000",     "text",
};

TEST(TextFuzz, OutputParserGivesOneResultForAllCuts) {
  const OrderedJson tools = *ParseJsonKeepingNumbers(R"([{"name": "get", "parameters": {"properties": {
      "city": {"type": "string"}, "n": {"type": "integer"}, "x": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}}}}])");
  Random random(101);
  for (int round = 0; round < 6000; ++round) {
    std::string text;
    for (size_t n = random() % 30; n > 0; --n) text += Pick(kModelParts, random);
    if (round % 3 == 0) Damage(text, kModelParts, random);
    const auto start = round % 2 ? OutputParser::Start::kContent : OutputParser::Start::kReasoning;
    const bool cut = random() % 2, active = random() % 8;
    const auto parse = [&](const std::vector<std::string>& pieces) {
      return ParsePieces(start, tools, active, cut, pieces);
    };
    const ParsedOutput whole = parse({text});
    ASSERT_EQ(Shown(parse(Bytes(text))), Shown(whole)) << text;
    ASSERT_EQ(Shown(parse(RandomCuts(text, random, 9))), Shown(whole)) << text;
    ASSERT_TRUE(IsValidUtf8(Shown(whole)));
    for (const auto& call : whole.calls) {
      ASSERT_FALSE(call.name.empty());
      // Only the last call may be unfinished, and only when a limit ended the output.
      const bool may_be_open = cut && &call == &whole.calls.back();
      ASSERT_TRUE(may_be_open || ParseJsonKeepingNumbers(call.arguments).ok()) << call.arguments;
    }
  }
}

TEST(TextFuzz, JsonReaderAcceptsOnlyWhatItWritesTheSame) {
  const std::vector<std::string> seeds = {
      R"({"a": [1, -2.5e3, true, null, "x\u00e9\ud83d\ude00"], "b": {"c": {}}, "a": 12345678901234567890123})",
      R"([[[[{"k": [0.1, 1e-7, "\"\\\/\b"]}]]]])", R"("text")", "-0.0"};
  const std::vector<std::string> inserts = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ",",
                                            ":",
                                            "\"",
                                            "\\u",
                                            "d800",
                                            "\\ud800",
                                            "1e999",
                                            "e",
                                            ".",
                                            "-",
                                            "0",
                                            "null",
                                            "nan",
                                            "\xC3",
                                            "\xED\xA0\x80",
                                            std::string(1, '\0'),
                                            "9999999999999999999999"};
  Random random(202);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = Pick(seeds, random);
    for (size_t n = 1 + random() % 4; n > 0; --n) Damage(text, inserts, random);
    const auto value = ParseJsonKeepingNumbers(text);
    // nlohmann's reader takes lone surrogates and depth differently, but what we accept it must accept.
    if (!value.ok()) continue;
    ++accepted;
    ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    const std::string written = JsonText(*value);
    ASSERT_TRUE(IsValidUtf8(written));
    const auto again = ParseJsonKeepingNumbers(written);
    ASSERT_TRUE(again.ok()) << written;
    ASSERT_EQ(JsonText(*again), written);
  }
  EXPECT_GT(accepted, 500);
}

// A complete tokenizer.json with the bytes, two merges and one added token.
std::string SmallTokenizerJson() {
  const nlohmann::json full = nlohmann::json::parse(ReadText("models/hearth-tiny/tokenizer.json"));
  nlohmann::json small = full;
  auto& vocab = small["model"]["vocab"];
  vocab = nlohmann::json::object();
  for (const auto& [symbols, id] : full["model"]["vocab"].items()) {
    if (id.get<int>() < 258) vocab[symbols] = id;
  }
  small["model"]["merges"] = nlohmann::json::array({full["model"]["merges"][0], full["model"]["merges"][1]});
  small["added_tokens"] = nlohmann::json::array({full["added_tokens"][0]});
  return small.dump();
}

TEST(TextFuzz, TokenizerFilesAreRefusedOrWork) {
  const std::string seed = SmallTokenizerJson();
  ASSERT_TRUE(Tokenizer::FromJson(seed).ok()) << Tokenizer::FromJson(seed).status().message();
  const std::vector<std::string> inserts = {"null",         "true",       "{}",   "[]", "\"\"",    "-1",
                                            "4294967296",   "1e9",        ",",    "[[", "\"a b\"", "\"vocab\":{",
                                            "\"merges\":[", "\"model\":", "\xFF", "(",  "*",       "{9}"};
  Random random(303);
  int refused = 0, loaded = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    for (size_t n = 1 + random() % 3; n > 0; --n) Damage(text, inserts, random);
    const auto tokenizer = Tokenizer::FromJson(text);
    if (!tokenizer.ok()) {
      ++refused;
      ASSERT_FALSE(tokenizer.status().message().empty());
      continue;
    }
    ++loaded;
    const std::string sample = "the A\n 東 <|endoftext|>";
    ASSERT_EQ(tokenizer->Decode(tokenizer->Encode(sample), false), sample);
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(loaded, 10);
}

TEST(TextFuzz, TokenizerTakesAnyBytes) {
  Random random(404);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = random() % 40; n > 0; --n) text += Pick(kModelParts, random);
    for (size_t n = random() % 6; n > 0; --n) Damage(text, kModelParts, random);
    const std::string clean = SanitizeUtf8(text, false, nullptr);
    ASSERT_EQ(TinyTokenizer().Decode(TinyTokenizer().Encode(text), false), clean);
    ASSERT_EQ(TinyTokenizer().Decode(TinyTokenizer().EncodeContent(text), false), clean);
  }
}

TEST(TextFuzz, StopSequencesNeverLeak) {
  Random random(505);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops = {Pick(kModelParts, random), Pick(kModelParts, random)};
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) text += Pick(kModelParts, random);
    StopSequences sequences(stops);
    std::string shown;
    for (const auto& piece : RandomCuts(text, random, 7)) shown += sequences.Push(piece);
    shown += sequences.Finish();
    ASSERT_TRUE(text.starts_with(shown));
    ASSERT_EQ(sequences.stopped(), shown.size() < text.size() || text.find(stops[0]) != std::string::npos ||
                                       text.find(stops[1]) != std::string::npos);
    for (const auto& stop : stops) ASSERT_EQ(shown.find(stop), std::string::npos);
  }
}

TEST(TextFuzz, CommandLineAnswersEveryLine) {
  const std::vector<std::string> seeds = {
      R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "tool_calls":)"
      R"( [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]}, {"role": "tool", "tool_call_id": "1", "content":)"
      R"( [{"output": "x"}]}], "tools": [{"name": "f"}], "kwargs": {"clear_thinking": true}, "add_generation_prompt": true})",
      R"({"chunks": ["a</think>", "<tool_call>f<arg_key>k</arg_key>"], "tools": [{"name": "f", "parameters": {"properties":)"
      R"( {"k": {"type": ["string"], "enum": [1], "anyOf": [{}]}}}}], "stop": "length", "starts_in": "reasoning"})",
      R"({"text": "hello"})", R"({"tokens": [1, 2, 3]})"};
  const std::vector<std::string> inserts = {"null", "[]", "{}", "1", "\"\"",
                                            "true", ",",  "[",  "{", "\"role\": \"tool\","};
  const TextJob jobs[] = {TextJob::kRender, TextJob::kParse, TextJob::kTokenize, TextJob::kDetokenize};
  Random random(606);
  for (int round = 0; round < 20000; ++round) {
    const size_t which = random() % seeds.size();
    std::string line = seeds[which];
    for (size_t n = 1 + random() % 3; n > 0; --n) Damage(line, inserts, random);
    const std::string text = AnswerLine(jobs[which], &TinyTokenizer(), line);
    const auto answer = ParseJsonKeepingNumbers(text);
    ASSERT_TRUE(answer.ok() && answer->is_object()) << line << " -> " << text;
    ASSERT_EQ(text.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::text
