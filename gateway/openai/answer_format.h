#pragma once

#include <memory>
#include <string>

#include "gateway/openai/field_reader.h"

namespace hearth::openai {

constexpr size_t kMaxChoiceTexts = 1024;

// What the text of an answer must be like: response_format, guided_regex or guided_choice.
struct AnswerFormat {
  std::shared_ptr<const std::string> automaton;  // in wire form; null: anything
  std::string field;                             // that asks for it
};

// Reads and compiles. Mistakes, and whatever cannot be enforced, land in the reader, by name.
AnswerFormat ReadAnswerFormat(FieldReader& fields);

}  // namespace hearth::openai
