#include "gateway/grammar/schema_keywords.h"

#include <algorithm>
#include <string>

namespace hearth::grammar {
namespace {

using text::FindMember;
using text::TypeSet;

constexpr std::string_view kAnnotations[] = {
    "title",       "description",      "default",         "examples",      "example", "$comment",
    "deprecated",  "readOnly",         "$schema",         "writeOnly",     "$defs",   "$id",
    "definitions", "contentMediaType", "contentEncoding", "discriminator",
};
constexpr std::string_view kEnforced[] = {
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "items",
    "minItems",
    "maxItems",
    "prefixItems",
    "properties",
    "required",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "additionalProperties",
};

template <size_t N>
bool IsIn(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

TypeSet TypeNamed(const OrderedJson& name) {
  if (!name.is_string()) return TypeSet::kUnknown;
  const std::string& word = name.get_ref<const std::string&>();
  constexpr std::pair<const char*, TypeSet::Type> kNames[] = {
      {"string", TypeSet::kString},   {"integer", TypeSet::kInteger}, {"number", TypeSet::kNumber},
      {"boolean", TypeSet::kBoolean}, {"null", TypeSet::kNull},       {"object", TypeSet::kObject},
      {"array", TypeSet::kArray}};
  for (const auto& [text, type] : kNames) {
    if (word == text) return type;
  }
  return TypeSet::kUnknown;
}

bool HasAny(const OrderedJson& schema, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return schema.contains(name); });
}

}  // namespace

bool IsAnnotation(std::string_view keyword) { return keyword.starts_with("x-") || IsIn(kAnnotations, keyword); }
bool IsEnforced(std::string_view keyword) { return IsIn(kEnforced, keyword); }

TypeSet CompiledTypes(const OrderedJson& schema) {
  TypeSet types;
  if (const OrderedJson* type = FindMember(schema, "type"); type != nullptr) {
    if (!type->is_array()) return TypeNamed(*type);
    for (const OrderedJson& one : *type) types.Add(TypeNamed(one));
    return types.empty() ? TypeSet::kUnknown : types;
  }
  if (const OrderedJson* value = FindMember(schema, "const"); value != nullptr) return text::TypeOf(*value);
  if (const OrderedJson* values = FindMember(schema, "enum"); values != nullptr && values->is_array()) {
    for (const OrderedJson& value : *values) types.Add(text::TypeOf(value));
    return types;
  }
  if (HasAny(schema, {"properties", "required", "additionalProperties"})) types.Add(TypeSet::kObject);
  if (HasAny(schema, {"items", "prefixItems", "minItems", "maxItems"})) types.Add(TypeSet::kArray);
  if (HasAny(schema, {"pattern", "format", "minLength", "maxLength"})) types.Add(TypeSet::kString);
  if (HasAny(schema, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})) types.Add(TypeSet::kNumber);
  if (!types.empty()) return types;
  for (const auto type : {TypeSet::kString, TypeSet::kInteger, TypeSet::kNumber, TypeSet::kBoolean, TypeSet::kNull,
                          TypeSet::kObject, TypeSet::kArray}) {
    types.Add(type);
  }
  return types;
}

std::span<const OrderedJson> ListedValues(const OrderedJson& schema) {
  if (const OrderedJson* value = FindMember(schema, "const"); value != nullptr) return {value, 1};
  const OrderedJson* values = FindMember(schema, "enum");
  if (values == nullptr || !values->is_array()) return {};
  return values->get_ref<const OrderedJson::array_t&>();
}

}  // namespace hearth::grammar
