#include "gateway/grammar/json_rules.h"

#include <algorithm>
#include <utility>

#include "gateway/text/json_text.h"
#include "gateway/text/utf8.h"

namespace hearth::grammar {
namespace {

PieceRef Digits(size_t least, size_t most) { return Repeat(Bytes('0', '9'), least, most); }

PieceRef Hex() { return Choice({Bytes('0', '9'), Bytes('a', 'f'), Bytes('A', 'F')}); }

PieceRef OneOf(const char* bytes) {
  std::vector<PieceRef> parts;
  for (; *bytes != 0; ++bytes) parts.push_back(Text(std::string(1, *bytes)));
  return Choice(std::move(parts));
}

CodePointSet One(uint32_t character) { return CodePointSet({{character, character}}); }

PieceRef Escape() { return Sequence({Text("\\"), OneOf("\"\\/bfnrt")}); }

// \uXXXX, of a surrogate only as a pair.
PieceRef NumericEscape() {
  const PieceRef low = Sequence({Text("\\u"), OneOf("dD"), OneOf("cdefCDEF"), Hex(), Hex()});
  const PieceRef high = Sequence({OneOf("dD"), OneOf("89abAB"), Hex(), Hex(), low});
  const PieceRef below = Sequence({OneOf("dD"), Bytes('0', '7'), Hex(), Hex()});
  const PieceRef other = Sequence({OneOf("0123456789abcefABCEF"), Hex(), Hex(), Hex()});
  return Sequence({Text("\\u"), Choice({other, below, high})});
}

}  // namespace

JsonRules::JsonRules(Builder& builder, JsonPlace place)
    : builder_(builder), place_(place), plain_([&] {
        CodePointSet escaped({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
        if (place == JsonPlace::kBetweenTags) escaped.Add('<', '<');
        return escaped.Complement();
      }()) {}

std::string JsonRules::TextOf(const text::OrderedJson& value) const {
  std::string out = text::JsonText(value);
  if (place_ == JsonPlace::kAlone) return out;
  // JSON has the character inside strings only.
  for (size_t at = 0; (at = out.find("</", at)) != std::string::npos; at += 3) out.insert(at + 1, 1, '\\');
  return out;
}

PieceRef JsonRules::Once(PieceRef& known, const char* name, PieceRef (JsonRules::*make)()) {
  if (!known) known = Rule(builder_.Add(name, (this->*make)()));
  return known;
}

PieceRef JsonRules::MakeBlank() {
  return Optional(Choice({Text(" "), Sequence({Text("\n"), Repeat(Text(" "), 0, kMaxIndent)})}));
}

PieceRef JsonRules::MakeCharacter() { return Choice({builder_.Class(Plain()), Escape(), NumericEscape()}); }

PieceRef JsonRules::CharacterOf(const CodePointSet& set) {
  PieceRef& known = characters_of_[set];
  if (known) return known;
  std::vector<PieceRef> ways;
  if (const CodePointSet plain = set.And(Plain()); !plain.empty()) ways.push_back(builder_.Class(plain));
  const CodePointSet escaped_ones = set.Without(Plain());
  for (const CodePointSet::Range& range : escaped_ones.ranges()) {
    for (uint32_t c = range.low; c <= range.high; ++c) {
      std::string raw, escaped;
      text::AppendUtf8(raw, c);
      text::AppendJsonEscaped(escaped, raw);
      if (c == '<') escaped = "\\u003c";
      ways.push_back(Text(std::move(escaped)));
    }
  }
  known = Choice(std::move(ways));
  if (known->kind == Piece::Kind::kChoice && known->parts.size() > 4) known = Rule(builder_.Add("character", known));
  return known;
}

PieceRef JsonRules::MakeString() {
  const PieceRef quote = Text("\"");
  if (place_ == JsonPlace::kAlone) return Sequence({quote, Repeat(Character(), 0, std::nullopt), quote});
  const PieceRef no_slash = Choice({builder_.Class(Plain().Without(One('/'))), Escape(), NumericEscape()});
  const PieceRef after_angles = Sequence({Text("<"), Repeat(Text("<"), 0, std::nullopt), no_slash});
  return Sequence(
      {quote, Repeat(Choice({Character(), after_angles}), 0, std::nullopt), Repeat(Text("<"), 0, std::nullopt), quote});
}

PieceRef JsonRules::MakeInteger() {
  return Sequence(
      {Optional(Text("-")), Choice({Text("0"), Sequence({Bytes('1', '9'), Digits(0, kMaxIntegerDigits - 1)})})});
}

PieceRef JsonRules::MakeNumber() {
  return Sequence({Integer(), Optional(Sequence({Text("."), Digits(1, kMaxFractionDigits)})),
                   Optional(Sequence({OneOf("eE"), Optional(OneOf("+-")), Digits(1, kMaxExponentDigits)}))});
}

PieceRef JsonRules::Blank() { return Once(blank_, "blank", &JsonRules::MakeBlank); }
PieceRef JsonRules::AfterColon() { return Optional(Text(" ")); }
PieceRef JsonRules::Character() { return Once(character_, "character", &JsonRules::MakeCharacter); }
PieceRef JsonRules::String() { return Once(string_, "string", &JsonRules::MakeString); }
PieceRef JsonRules::Integer() { return Once(integer_, "integer", &JsonRules::MakeInteger); }
PieceRef JsonRules::Number() { return Once(number_, "number", &JsonRules::MakeNumber); }
PieceRef JsonRules::Boolean() { return Choice({Text("true"), Text("false")}); }
PieceRef JsonRules::Null() { return Text("null"); }

PieceRef JsonRules::Value() {
  if (value_) return value_;
  const int32_t rule = builder_.Reserve("value");
  value_ = Rule(rule);
  builder_.Define(rule, Choice({String(), Number(), Boolean(), Null(), Object(), Array()}));
  return value_;
}

PieceRef JsonRules::Object() {
  if (object_) return object_;
  const int32_t rule = builder_.Reserve("object");
  object_ = Rule(rule);
  const PieceRef member = Sequence({String(), Text(":"), AfterColon(), Value()});
  const PieceRef members = Sequence({member, Repeat(Sequence({Text(","), Blank(), member}), 0, std::nullopt)});
  builder_.Define(rule, Sequence({Text("{"), Choice({Sequence({Blank(), members, Blank()}), Text("")}), Text("}")}));
  return object_;
}

PieceRef JsonRules::Array() {
  if (array_) return array_;
  const int32_t rule = builder_.Reserve("list");
  array_ = Rule(rule);
  DefineArray(rule, {}, Value(), 0, std::nullopt);
  return array_;
}

void JsonRules::DefineArray(int32_t rule, const std::vector<PieceRef>& first, const PieceRef& rest, size_t least,
                            std::optional<size_t> most) {
  // states[n]: n items have been written.
  const int32_t begin = builder_.State();
  const int32_t close = builder_.State();
  const int32_t inside = builder_.State();
  builder_.Emit(Text("["), builder_.Start(rule), begin);
  builder_.Emit(Blank(), begin, inside);
  if (least == 0) builder_.Emit(Text("]"), begin, close);
  const int32_t ending = builder_.State();
  builder_.Emit(Text("]"), ending, close);
  builder_.Empty(close, builder_.State(/*end=*/true));

  size_t last = first.size();
  if (rest) last = most ? *most : std::max(last + 1, least);
  if (most) last = std::min(last, *most);
  int32_t at = inside;
  for (size_t n = 0; n < last && !builder_.full(); ++n) {
    const PieceRef& item = n < first.size() ? first[n] : rest;
    const int32_t after = builder_.State();
    builder_.Emit(item, at, after);
    if (n + 1 >= least) builder_.Emit(Blank(), after, ending);
    const bool on = n + 1 < last;
    const bool again = !on && rest && !most;
    if (again) {
      const int32_t next = builder_.State();
      builder_.Emit(Sequence({Text(","), Blank()}), after, next);
      builder_.Emit(rest, next, after);
    } else if (on) {
      const int32_t next = builder_.State();
      builder_.Emit(Sequence({Text(","), Blank()}), after, next);
      at = next;
    }
  }
}

}  // namespace hearth::grammar
