#include "gateway/grammar/schema_compiler.h"

#include <algorithm>

namespace hearth::grammar {

using text::FindMember;
using text::TypeSet;

namespace {

constexpr TypeSet::Type kTypes[] = {TypeSet::kString, TypeSet::kInteger, TypeSet::kNumber, TypeSet::kBoolean,
                                    TypeSet::kNull,   TypeSet::kObject,  TypeSet::kArray};

bool HasType(TypeSet types, const OrderedJson& value) {
  const TypeSet::Type type = text::TypeOf(value);
  return types.Has(type) || (type == TypeSet::kInteger && types.Has(TypeSet::kNumber));
}

// Whether all of it was left.
bool Take(const OrderedJson& value, SchemaBudget& budget) {
  if (budget.values == 0) return false;
  --budget.values;
  const auto take_text = [&](const std::string& text) {
    const bool fits = text.size() <= budget.bytes;
    budget.bytes -= std::min(text.size(), budget.bytes);
    return fits;
  };
  if (value.is_string()) return take_text(value.get_ref<const std::string&>());
  if (value.is_array()) {
    return std::all_of(value.begin(), value.end(), [&](const OrderedJson& item) { return Take(item, budget); });
  }
  if (!value.is_object()) return true;
  const auto& members = value.get_ref<const OrderedJson::object_t&>();
  return std::all_of(members.begin(), members.end(),
                     [&](const auto& member) { return take_text(member.first) && Take(member.second, budget); });
}

}  // namespace

void SchemaCompiler::TakeBudget() {
  if (Take(root_, budget_)) return;
  Fail("the schema", "#",
       StrCat("is too large: at most ", SchemaBudget::kMaxValues, " values with ", SchemaBudget::kMaxBytes,
              " bytes of names and strings are offered, in all schemas of a request together"));
}

std::string SchemaCompiler::Below(const std::string& path, const std::string& step) {
  constexpr size_t kLongest = 1024;
  if (path.size() + step.size() < kLongest) return StrCat(path, "/", step);
  return path.ends_with("/..") ? path : path + "/..";
}

void SchemaCompiler::Fail(const std::string& keyword, const std::string& path, const std::string& why) {
  if (status_.ok()) status_ = InvalidArgument(keyword, " at ", path, " ", why);
}

bool SchemaCompiler::CheckKeywords(const OrderedJson& schema, const std::string& path) {
  for (const auto& [keyword, value] : schema.items()) {
    if (IsAnnotation(keyword) || IsEnforced(keyword)) continue;
    if (keyword == "uniqueItems" && value == false) continue;
    Fail(keyword, path, "is not offered");
    return false;
  }
  return true;
}

bool SchemaCompiler::Alone(const OrderedJson& schema, const std::string& keyword,
                           std::initializer_list<const char*> allowed, const std::string& path) {
  for (const auto& [other, value] : schema.items()) {
    if (other == keyword || IsAnnotation(other)) continue;
    if (std::any_of(allowed.begin(), allowed.end(), [&name = other](const char* a) { return name == a; })) continue;
    Fail(other, path, StrCat("beside ", keyword, " is not offered"));
    return false;
  }
  return true;
}

std::optional<size_t> SchemaCompiler::Count(const OrderedJson& schema, const char* keyword, size_t most,
                                            const std::string& path) {
  const OrderedJson* value = FindMember(schema, keyword);
  if (value == nullptr) return {};
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number < 0 || number != static_cast<double>(static_cast<int64_t>(std::min(number, 1e15)))) {
    Fail(keyword, path, StrCat("is ", text::JsonText(*value), ", expected a whole number from 0"));
    return {};
  }
  if (number > static_cast<double>(most)) {
    Fail(keyword, path, StrCat("is ", text::JsonText(*value), ", at most ", most, " is offered"));
    return {};
  }
  return static_cast<size_t>(number);
}

PieceRef SchemaCompiler::Compile(const OrderedJson& schema, const std::string& path) {
  const PieceRef nothing = Text("");
  if (++parts_ > kMaxParts) Fail("the schema", path, StrCat("is one of more than ", kMaxParts));
  if (!status_.ok() || builder_.full()) return nothing;
  if (schema == true) return rules_.Value();
  if (!schema.is_object()) {
    Fail("the schema", path, schema == false ? "is false: it admits no value" : "is no object");
    return nothing;
  }
  if (!CheckKeywords(schema, path)) return nothing;
  if (schema.contains("$ref")) return Reference(schema, path);
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (schema.contains(keyword)) return Branches(schema, keyword, path);
  }
  if (schema.contains("const") || schema.contains("enum")) return Listed(schema, path);
  const TypeSet types = CompiledTypes(schema);
  if (types.Has(TypeSet::kUnknown)) {
    Fail("type", path, StrCat("is ", text::JsonText(schema["type"]), ", expected JSON type names"));
    return nothing;
  }
  std::vector<PieceRef> ways;
  for (const TypeSet::Type type : kTypes) {
    if (type == TypeSet::kInteger && types.Has(TypeSet::kNumber)) continue;
    if (types.Has(type)) ways.push_back(Typed(schema, type, path));
  }
  return Choice(std::move(ways));
}

PieceRef SchemaCompiler::Typed(const OrderedJson& schema, TypeSet::Type type, const std::string& path) {
  switch (type) {
    case TypeSet::kString:
      return String(schema, path);
    case TypeSet::kInteger:
      return Number(schema, path, /*whole=*/true);
    case TypeSet::kNumber:
      return Number(schema, path, /*whole=*/false);
    case TypeSet::kBoolean:
      return rules_.Boolean();
    case TypeSet::kNull:
      return rules_.Null();
    case TypeSet::kObject:
      return Object(schema, path);
    default:
      return Array(schema, path);
  }
}

PieceRef SchemaCompiler::Reference(const OrderedJson& schema, const std::string& path) {
  const PieceRef nothing = Text("");
  if (!Alone(schema, "$ref", {}, path)) return nothing;
  const OrderedJson& reference = schema["$ref"];
  const OrderedJson* target = reference.is_string() ? targets_.Find(reference.get_ref<const std::string&>()) : nullptr;
  if (target == nullptr) {
    Fail("$ref", path, StrCat("is ", text::JsonText(reference), ", which names nothing in this schema"));
    return nothing;
  }
  const auto [known, added] = references_.try_emplace(target, 0);
  if (added) {
    const std::string name = Below("", reference.get<std::string>()).substr(1);
    known->second = builder_.Reserve(name);
    pending_.push_back({target, name, known->second});
  }
  return Rule(known->second);
}

void SchemaCompiler::Finish() {
  while (!pending_.empty() && status_.ok() && !builder_.full()) {
    const Pending next = std::move(pending_.front());
    pending_.pop_front();
    builder_.Define(next.rule, Compile(*next.schema, next.path));
  }
}

PieceRef SchemaCompiler::Branches(const OrderedJson& schema, const std::string& keyword, const std::string& path) {
  const PieceRef nothing = Text("");
  if (!Alone(schema, keyword, {}, path)) return nothing;
  const OrderedJson& branches = schema[keyword];
  if (!branches.is_array() || branches.empty()) {
    Fail(keyword, path, "must be a list that is not empty");
    return nothing;
  }
  if (keyword == "allOf" && branches.size() > 1) {
    Fail(keyword, path, "with more than one schema is not offered");
    return nothing;
  }
  std::vector<PieceRef> ways;
  for (size_t i = 0; i < branches.size() && status_.ok(); ++i) {
    ways.push_back(Compile(branches[i], Below(path, StrCat(keyword, "/", i))));
    for (size_t j = 0; keyword == "oneOf" && j < i && status_.ok(); ++j) {
      if (overlap_.PlainlyDisjoint(branches[j], branches[i])) continue;
      Fail(keyword, path,
           budget_.comparisons > 0
               ? StrCat("may have values that both schema ", j, " and ", i, " take; use anyOf")
               : StrCat("is too large to tell that no value fits two of its ", branches.size(), " schemas; use anyOf"));
    }
  }
  return Choice(std::move(ways));
}

PieceRef SchemaCompiler::Listed(const OrderedJson& schema, const std::string& path) {
  const bool constant = schema.contains("const");
  const std::string keyword = constant ? "const" : "enum";
  const PieceRef nothing = Text("");
  if (!Alone(schema, keyword, {"type"}, path)) return nothing;
  const TypeSet types = CompiledTypes(schema);
  const std::span<const OrderedJson> values = ListedValues(schema);
  if (!constant && !schema["enum"].is_array()) {
    Fail(keyword, path, "must be a list");
    return nothing;
  }
  std::vector<PieceRef> ways;
  for (const OrderedJson& value : values) {
    if (HasType(types, value)) ways.push_back(Text(rules_.TextOf(value)));
  }
  if (ways.empty()) Fail(keyword, path, "has no value of the type");
  return ways.empty() ? nothing : Choice(std::move(ways));
}

}  // namespace hearth::grammar
