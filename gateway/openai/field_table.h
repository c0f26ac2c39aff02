#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "gateway/openai/field_reader.h"

namespace hearth::openai {

enum class Treatment {
  kHonoured,  // read, checked and obeyed
  kPassive,   // of the caller's own use: its type is checked, and by its definition it does not change the answer
  kOnly,      // only the values that ask for nothing we lack; others are refused
  kRefused,   // refused whenever it is given
};

// One field of a request schema. docs/api.md holds the same table; a test compares them.
struct Field {
  const char* name;
  Treatment treatment;
  const char* note;       // one sentence for docs and errors
  const char* only = "";  // kOnly: the accepted values, a JSON list; kPassive: the accepted types, "string" or "object"
};

std::span<const Field> ChatFields();
std::span<const Field> CompletionFields();

// Applies the table to a body: refusals, kOnly values, types of passive fields. The names of fields outside the table
// land in `unknown`; with `strict` they are refused.
Status CheckFields(const OrderedJson& body, std::span<const Field> fields, bool strict,
                   std::vector<std::string>& unknown);

// The table as Markdown, for docs/api.md.
std::string FieldsMarkdown(std::span<const Field> fields);

}  // namespace hearth::openai
