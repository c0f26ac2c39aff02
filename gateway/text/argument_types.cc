#include "gateway/text/argument_types.h"

#include "gateway/text/chat_tools.h"

namespace hearth::text {
namespace {

TypeSet::Type TypeNamed(std::string_view name) {
  if (name == "string") return TypeSet::kString;
  if (name == "integer") return TypeSet::kInteger;
  if (name == "number") return TypeSet::kNumber;
  if (name == "boolean") return TypeSet::kBoolean;
  if (name == "null") return TypeSet::kNull;
  if (name == "object") return TypeSet::kObject;
  if (name == "array") return TypeSet::kArray;
  return TypeSet::kUnknown;
}

TypeSet NamedTypes(const OrderedJson* type) {
  TypeSet types;
  if (!type) return types;
  if (type->is_string()) types.Add(TypeNamed(type->get_ref<const std::string&>()));
  if (!type->is_array()) return types;
  for (const auto& item : *type) {
    if (item.is_string()) types.Add(TypeNamed(item.get_ref<const std::string&>()));
  }
  return types;
}

TypeSet AllowedTypes(const OrderedJson& schema, int depth) {
  TypeSet types = NamedTypes(FindMember(schema, "type"));
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const OrderedJson* branches = FindMember(schema, key);
    if (!branches || !branches->is_array() || depth == kMaxJsonDepth) continue;
    for (const auto& branch : *branches) types.Add(AllowedTypes(branch, depth + 1));
  }
  if (types.empty()) {
    const OrderedJson* values = FindMember(schema, "enum");
    if (values && values->is_array()) {
      for (const auto& value : *values) types.Add(TypeOf(value));
    }
    if (const OrderedJson* value = FindMember(schema, "const")) types.Add(TypeOf(*value));
  }
  if (types.empty()) {
    if (FindMember(schema, "properties")) types.Add(TypeSet::kObject);
    if (FindMember(schema, "items")) types.Add(TypeSet::kArray);
  }
  const OrderedJson* nullable = FindMember(schema, "nullable");
  if (nullable && *nullable == true && !types.empty()) types.Add(TypeSet::kNull);
  return types;
}

}  // namespace

TypeSet::Type TypeOf(const OrderedJson& value) {
  if (value.is_string()) return TypeSet::kString;
  if (IsInteger(value)) return TypeSet::kInteger;
  if (value.is_number()) return TypeSet::kNumber;
  if (value.is_boolean()) return TypeSet::kBoolean;
  if (value.is_object()) return TypeSet::kObject;
  if (value.is_array()) return TypeSet::kArray;
  return TypeSet::kNull;
}

TypeSet AllowedTypes(const OrderedJson& schema) { return AllowedTypes(schema, 0); }

ToolTypes::ToolTypes(const OrderedJson& tools) {
  if (!tools.is_array()) return;
  for (const auto& tool : tools) {
    const OrderedJson& function = FunctionOf(tool);
    const OrderedJson* name = FindMember(function, "name");
    if (!name || !name->is_string()) continue;
    const auto [it, is_new] = tools_.try_emplace(name->get<std::string>());
    const OrderedJson* parameters = FindMember(function, "parameters");
    const OrderedJson* properties = parameters ? FindMember(*parameters, "properties") : nullptr;
    if (!is_new || !properties || !properties->is_object()) continue;
    for (const auto& [key, schema] : properties->get_ref<const OrderedJson::object_t&>()) {
      it->second.emplace(key, AllowedTypes(schema));
    }
  }
}

TypeSet ToolTypes::Of(std::string_view tool, std::string_view parameter) const {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return {};
  const auto type = found->second.find(parameter);
  return type == found->second.end() ? TypeSet() : type->second;
}

std::string_view ToolTypes::LongestNameAtStart(std::string_view text) const {
  std::string_view longest;
  for (const auto& [name, types] : tools_) {
    if (name.size() > longest.size() && text.starts_with(name)) longest = name;
  }
  return longest;
}

}  // namespace hearth::text
