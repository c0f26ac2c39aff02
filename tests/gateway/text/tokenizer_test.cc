#include "gateway/text/tokenizer.h"

#include <gtest/gtest.h>

#include <functional>

#include "gateway/text/detokenizer.h"
#include "gateway/text/pattern_dialect.h"
#include "gateway/text/pre_tokenizer.h"
#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

using Ids = std::vector<int32_t>;

std::string TinyJson() {
  static const std::string text = ReadText("models/hearth-tiny/tokenizer.json");
  return text;
}

// The tiny tokenizer.json after a change; nlohmann's own tree, since only the members' values matter here.
std::string Changed(const std::function<void(nlohmann::json&)>& change) {
  static const nlohmann::json original = nlohmann::json::parse(TinyJson());
  nlohmann::json copy = original;
  change(copy);
  return copy.dump();
}

TEST(Tokenizer, PanelTextsGiveTheirTokens) {
  const OrderedJson panel = ReadJson("reference/hearth-tiny-panel.json");
  ASSERT_EQ(panel.size(), 14u);
  for (const auto& item : panel) {
    const auto tokens = item["tokens"].get<Ids>();
    const std::string text = TinyTokenizer().Decode(tokens, /*skip_special=*/false);
    EXPECT_EQ(TinyTokenizer().Encode(text), tokens) << item["name"];
    EXPECT_TRUE(text.ends_with(item["text"].get<std::string>())) << item["name"];
  }
}

TEST(Tokenizer, EveryAddedTokenIsOneIdAloneAndInsideText) {
  ASSERT_EQ(TinyTokenizer().added_tokens().size(), 36u);
  for (const auto& token : TinyTokenizer().added_tokens()) {
    EXPECT_EQ(TinyTokenizer().Encode(token.content), Ids{token.id});
    EXPECT_EQ(TinyTokenizer().TokenId(token.content), token.id);
    Ids expected = TinyTokenizer().EncodeContent("a");
    expected.push_back(token.id);
    for (const int32_t id : TinyTokenizer().EncodeContent("b")) expected.push_back(id);
    EXPECT_EQ(TinyTokenizer().Encode("a" + token.content + "b"), expected);
    const Ids as_content = TinyTokenizer().EncodeContent(token.content);
    EXPECT_GT(as_content.size(), 1u) << token.content;
    for (const int32_t id : as_content) EXPECT_FALSE(TinyTokenizer().IsAdded(id));
    EXPECT_EQ(TinyTokenizer().Decode(as_content, /*skip_special=*/true), token.content);
  }
  EXPECT_FALSE(TinyTokenizer().TokenId("hello").has_value());
}

TEST(Tokenizer, OnlyFlaggedTokensVanishFromDecodedText) {
  const Ids ids = TinyTokenizer().Encode("<|user|>a<think>b</think><|assistant|>");
  EXPECT_EQ(TinyTokenizer().Decode(ids, /*skip_special=*/true), "a<think>b</think>");
  EXPECT_EQ(TinyTokenizer().Decode(ids, /*skip_special=*/false), "<|user|>a<think>b</think><|assistant|>");
}

TEST(Tokenizer, BordersBetweenSegmentsCutNoPiece) {
  const std::vector<Segment> segments = {
      {"<|user|>Hel", true}, {"lo wor", false}, {"ld, this is", true}, {" one", false}};
  EXPECT_EQ(TinyTokenizer().EncodeSegments(segments), TinyTokenizer().Encode("<|user|>Hello world, this is one"));
}

TEST(Tokenizer, SpecialTextInContentStaysText) {
  const std::vector<Segment> segments = {{"<|user|>", true}, {"<|assistant|></think>", false}, {"<|assistant|>", true}};
  const Ids ids = TinyTokenizer().EncodeSegments(segments);
  int added = 0;
  for (const int32_t id : ids) added += TinyTokenizer().IsAdded(id);
  EXPECT_EQ(added, 2);
  EXPECT_EQ(TinyTokenizer().Decode(ids, false), "<|user|><|assistant|></think><|assistant|>");
}

TEST(Tokenizer, LongPiecesEndInTime) {
  const std::string letters(100000, 'a'), blanks(100000, ' '), marks(100000, '<');
  for (const std::string& text : {letters, blanks, marks, letters + blanks + marks}) {
    EXPECT_EQ(TinyTokenizer().Decode(TinyTokenizer().Encode(text), false), text);
  }
}

TEST(Tokenizer, InvalidUtf8IsReplacedNotTrusted) {
  EXPECT_EQ(TinyTokenizer().Encode("a\xFF"
                                   "b\xE2\x82"),
            TinyTokenizer().Encode("a\uFFFD"
                                   "b\uFFFD"));
}

TEST(Tokenizer, UnknownIdsHaveNoBytes) {
  EXPECT_EQ(TinyTokenizer().vocab_size(), 4096);
  EXPECT_TRUE(TinyTokenizer().TokenBytes(-1).empty());
  EXPECT_TRUE(TinyTokenizer().TokenBytes(4096).empty());
  EXPECT_FALSE(TinyTokenizer().IsSpecial(4096));
}

TEST(TokenizerFile, MergesMayBeJoinedTexts) {
  const auto tokenizer = Tokenizer::FromJson(Changed([](auto& json) {
    for (auto& merge : json["model"]["merges"]) {
      merge = merge[0].template get<std::string>() + " " + merge[1].template get<std::string>();
    }
  }));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const std::string text = "The quick brown fox, 東京 and 12345 more.\n\n  done";
  EXPECT_EQ(tokenizer->Encode(text), TinyTokenizer().Encode(text));
}

TEST(TokenizerFile, IgnoreMergesTakesWholeEntries) {
  const auto without_merges = [](bool ignore_merges) {
    return Tokenizer::FromJson(Changed([&](auto& json) {
      json["model"]["merges"] = nlohmann::json::array();
      json["model"]["ignore_merges"] = ignore_merges;
    }));
  };
  const Ids whole = TinyTokenizer().Encode(" the");
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(without_merges(true)->Encode(" the"), whole);
  EXPECT_EQ(without_merges(false)->Encode(" the").size(), 4u);
}

TEST(TokenizerFile, RefusesWhatItDoesNotImplementNamingIt) {
  const std::vector<std::pair<std::string, std::function<void(nlohmann::json&)>>> cases = {
      {"normalizer is {\"type\":\"NFC\"}",
       [](auto& j) {
         j["normalizer"] = {{"type", "NFC"}};
       }},
      {"model.type is \"Unigram\"", [](auto& j) { j["model"]["type"] = "Unigram"; }},
      {"model.byte_fallback is true", [](auto& j) { j["model"]["byte_fallback"] = true; }},
      {"model.dropout is 0.1", [](auto& j) { j["model"]["dropout"] = 0.1; }},
      {"model.unk_token is \"<unk>\"", [](auto& j) { j["model"]["unk_token"] = "<unk>"; }},
      {"model.end_of_word_suffix is \"</w>\"", [](auto& j) { j["model"]["end_of_word_suffix"] = "</w>"; }},
      {"model.ignore_merges is \"yes\"", [](auto& j) { j["model"]["ignore_merges"] = "yes"; }},
      {"model.surprise is 1", [](auto& j) { j["model"]["surprise"] = 1; }},
      {"surprise is 1", [](auto& j) { j["surprise"] = 1; }},
      {"version is \"2.0\"", [](auto& j) { j["version"] = "2.0"; }},
      {"truncation is ",
       [](auto& j) {
         j["truncation"] = {{"max_length", 5}};
       }},
      {"post_processor is ",
       [](auto& j) {
         j["post_processor"] = {{"type", "TemplateProcessing"}};
       }},
      {"decoder is ",
       [](auto& j) {
         j["decoder"] = {{"type", "Metaspace"}};
       }},
      {"pre_tokenizer is null", [](auto& j) { j["pre_tokenizer"] = nullptr; }},
      {"Split.behavior is \"Removed\"",
       [](auto& j) { j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed"; }},
      {"Split.invert is true", [](auto& j) { j["pre_tokenizer"]["pretokenizers"][0]["invert"] = true; }},
      {"is not an expression", [](auto& j) { j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a"; }},
      {"ByteLevel.add_prefix_space is true",
       [](auto& j) { j["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true; }},
      {"added_tokens lstrip of \"<|endoftext|>\" is true", [](auto& j) { j["added_tokens"][0]["lstrip"] = true; }},
      {"id 5 is used twice", [](auto& j) { j["added_tokens"][0]["id"] = 5; }},
      {"\"[MASK]\" stands twice", [](auto& j) { j["added_tokens"][0]["content"] = "[MASK]"; }},
      {"no entry for the single byte 33", [](auto& j) { j["model"]["vocab"].erase("!"); }},
      {"is negative", [](auto& j) { j["model"]["vocab"]["!"] = -1; }},
      {"is too large", [](auto& j) { j["model"]["vocab"]["!"] = 1 << 30; }},
      {"is not a whole number", [](auto& j) { j["model"]["vocab"]["!"] = "0"; }},
      {"byte-level alphabet", [](auto& j) { j["model"]["vocab"]["\u6771"] = 4059; }},
      {"model.merges: \"zz\" and \"qqq\"",
       [](auto& j) {
         j["model"]["merges"].push_back({"zz", "qqq"});
       }},
      {"more than two parts",
       [](auto& j) {
         j["model"]["merges"].push_back({"a", "b", "c"});
       }},
      {"fewer than two parts", [](auto& j) { j["model"]["merges"].push_back({"a"}); }},
      {"\"a b c\" is not two parts", [](auto& j) { j["model"]["merges"].push_back("a b c"); }},
      {"model.vocab is missing", [](auto& j) { j["model"].erase("vocab"); }},
      {"model.merges is missing", [](auto& j) { j["model"].erase("merges"); }},
  };
  for (const auto& [wanted, change] : cases) {
    const auto tokenizer = Tokenizer::FromJson(Changed(change));
    ASSERT_FALSE(tokenizer.ok()) << wanted;
    EXPECT_NE(tokenizer.status().message().find(wanted), std::string::npos) << tokenizer.status().message();
  }
}

TEST(TokenizerFile, RefusesBrokenFiles) {
  EXPECT_FALSE(Tokenizer::FromJson("").ok());
  EXPECT_FALSE(Tokenizer::FromJson("[]").ok());
  EXPECT_FALSE(Tokenizer::FromJson(TinyJson().substr(0, 100000)).ok());
  const auto missing = Tokenizer::Load("/nowhere/tokenizer.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("/nowhere/tokenizer.json"), std::string::npos);
}

TEST(PatternDialect, CharactersBelongToTheClassesOfTheReference) {
  EXPECT_EQ(ForPcre2("a\\sb[\\s\\]\\S]\\\\s"), "a\\p{White_Space}b[\\p{White_Space}\\]\\P{White_Space}]\\\\s");
  const auto pieces = [](const std::string& expression, const std::string& text) {
    return PreTokenizer::Make(expression)->Split(text).size();
  };
  EXPECT_EQ(pieces("\\p{L}+", "a\U00031350z"), 1u);  // a letter since Unicode 15
  EXPECT_EQ(pieces("[^\\p{L}]+",
                   "1\U00031350"
                   "2"),
            3u);  // the same inside of a class
  EXPECT_EQ(pieces("\\p{N}{1,3}",
                   "1\U0001E4F0"
                   "23"),
            2u);  // a digit since Unicode 15
  EXPECT_EQ(pieces("\\s+", "\u2003 \u3000\u0085"), 1u);
  EXPECT_EQ(pieces("\\s+", "\u180E"), 1u);
  EXPECT_EQ(pieces("[^\\s]+", " \u180E "), 3u);  // no white space, so one piece between two gaps
  EXPECT_EQ(pieces("[]\\s]+", "a] ]b"), 3u);
}

TEST(Detokenizer, GivesCharactersWhenTheyAreComplete) {
  for (const bool skip_special : {false, true}) {
    for (const std::string text : {"東京 Zürich 👩‍👩‍👧‍👦 ok", "<|user|>a\u3000b</think>", "é"}) {
      const Ids ids = TinyTokenizer().Encode(text);
      Detokenizer detokenizer(TinyTokenizer(), skip_special);
      std::string joined;
      for (const int32_t id : ids) {
        const std::string piece = detokenizer.Push(id);
        EXPECT_TRUE(IsValidUtf8(piece));
        joined += piece;
      }
      EXPECT_EQ(detokenizer.Finish(), "");
      EXPECT_EQ(joined, TinyTokenizer().Decode(ids, skip_special));
    }
  }
}

TEST(Detokenizer, AnyIdsGiveWhatDecodingThemTogetherGives) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    Ids ids;
    for (int i = 0; i < 40; ++i) ids.push_back(static_cast<int32_t>(random() % (round % 2 ? 4096 : 300)));
    Detokenizer detokenizer(TinyTokenizer(), round % 4 < 2);
    std::string joined;
    for (const int32_t id : ids) joined += detokenizer.Push(id);
    joined += detokenizer.Finish();
    ASSERT_EQ(joined, TinyTokenizer().Decode(ids, round % 4 < 2));
    ASSERT_TRUE(IsValidUtf8(joined));
  }
}

TEST(Utf8, ReplacesEveryMaximalInvalidPartOnce) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\x80z", "a\uFFFDz"},
      {"\xC0\xAF", "\uFFFD\uFFFD"},
      {"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x9F\x98z", "\uFFFDz"},
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xE2\x82", "\uFFFD"},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_EQ(SanitizeUtf8(bytes, false, nullptr), expected);
    EXPECT_EQ(IsValidUtf8(bytes), bytes == expected);
  }
  std::string rest;
  EXPECT_EQ(SanitizeUtf8("x\xF0\x9F\x98", true, &rest), "x");
  EXPECT_EQ(rest, "\xF0\x9F\x98");
}

}  // namespace
}  // namespace hearth::text
