#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "gateway/grammar/builder.h"
#include "gateway/text/json_text.h"

namespace hearth::grammar {

// Bounds that keep a model from writing one number, or white space, without end.
inline constexpr size_t kMaxIntegerDigits = 20, kMaxFractionDigits = 20, kMaxExponentDigits = 2, kMaxIndent = 32;

// What surrounds JSON text. Between the tags of a call no string may spell a closing tag, at which the reader would end
// the value: `</` is written `<\/` there, and in strings that are given by their characters `<` is written `\u003c`.
enum class JsonPlace { kAlone, kBetweenTags };

// The pieces of JSON text as rules of one automaton, each written when it is first asked for. The texts are valid JSON
// without lone surrogates. White space: after `{` `[` and `,` and before `}` `]` nothing, one blank, or a line break
// with up to kMaxIndent blanks; after `:` nothing or one blank; elsewhere none.
class JsonRules {
 public:
  explicit JsonRules(Builder& builder, JsonPlace place = JsonPlace::kAlone);

  PieceRef Blank();       // the white space inside objects and lists
  PieceRef AfterColon();  // nothing or one blank
  // A value as json.dumps(ensure_ascii=False) writes it.
  std::string TextOf(const text::OrderedJson& value) const;
  // Characters that stand for themselves wherever they are in a string.
  const CodePointSet& Plain() const { return plain_; }
  // One character inside a string, in any of its spellings.
  PieceRef Character();
  // One character of the set inside a string, as json.dumps(ensure_ascii=False) spells it.
  PieceRef CharacterOf(const CodePointSet& set);
  PieceRef String();
  PieceRef Integer();
  PieceRef Number();
  PieceRef Boolean();
  PieceRef Null();
  PieceRef Object();  // any
  PieceRef Array();   // any
  PieceRef Value();   // any

  // `[` items `]`, between `least` and `most` items; the first ones are `first`, the others `rest` (null: none).
  void DefineArray(int32_t rule, const std::vector<PieceRef>& first, const PieceRef& rest, size_t least,
                   std::optional<size_t> most);

 private:
  PieceRef Once(PieceRef& known, const char* name, PieceRef (JsonRules::*make)());
  PieceRef MakeBlank();
  PieceRef MakeCharacter();
  PieceRef MakeString();
  PieceRef MakeInteger();
  PieceRef MakeNumber();

  Builder& builder_;
  const JsonPlace place_;
  const CodePointSet plain_;
  PieceRef blank_, character_, string_, integer_, number_;
  std::map<CodePointSet, PieceRef> characters_of_;
  PieceRef object_, array_, value_;
};

}  // namespace hearth::grammar
