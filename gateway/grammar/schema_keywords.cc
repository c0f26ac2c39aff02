#include "gateway/grammar/schema_keywords.h"

#include <algorithm>
#include <charconv>
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

const OrderedJson* FindReference(const OrderedJson& root, std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  reference.remove_prefix(1);
  const OrderedJson* at = &root;
  while (!reference.empty()) {
    if (reference.front() != '/') return nullptr;
    reference.remove_prefix(1);
    const size_t end = std::min(reference.find('/'), reference.size());
    std::string name;
    for (size_t i = 0; i < end; ++i) {
      if (reference[i] != '~') {
        name += reference[i];
      } else {
        if (++i >= end || (reference[i] != '0' && reference[i] != '1')) return nullptr;
        name += reference[i] == '0' ? '~' : '/';
      }
    }
    reference.remove_prefix(end);
    if (at->is_array()) {
      size_t index = 0;
      const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || last != name.data() + name.size() || index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      at = FindMember(*at, name);
      if (at == nullptr) return nullptr;
    }
  }
  return at;
}

}  // namespace hearth::grammar
