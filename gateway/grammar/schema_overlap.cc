#include "gateway/grammar/schema_overlap.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

namespace hearth::grammar {
namespace {

using text::FindMember;
using text::TypeSet;

constexpr int kMaxDepth = 8;

bool TypesMeet(TypeSet a, TypeSet b) {
  for (const auto type : {TypeSet::kString, TypeSet::kBoolean, TypeSet::kNull, TypeSet::kObject, TypeSet::kArray}) {
    if (a.Has(type) && b.Has(type)) return true;
  }
  const auto numeric = [](TypeSet t) { return t.Has(TypeSet::kInteger) || t.Has(TypeSet::kNumber); };
  return numeric(a) && numeric(b);
}

// The types that values of a schema can have at all, for which inference from other keywords is no evidence.
TypeSet CertainTypes(const OrderedJson& schema) {
  for (const char* keyword : {"type", "const", "enum"}) {
    if (schema.contains(keyword)) return CompiledTypes(schema);
  }
  return CompiledTypes(OrderedJson::object());
}

// The same text for values that are equal as JSON: whatever the order of members, and 1.0 like 1.
void AppendCanonical(std::string& out, const OrderedJson& value) {
  if (value.is_object()) {
    std::map<std::string_view, const OrderedJson*> members;
    for (const auto& [name, member] : value.get_ref<const OrderedJson::object_t&>()) members.emplace(name, &member);
    out += '{';
    for (const auto& [name, member] : members) {
      text::AppendJsonString(out, name);
      AppendCanonical(out, *member);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const OrderedJson& item : value) {
      AppendCanonical(out, item);
      out += ',';
    }
    out += ']';
  } else if (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>()) {
    char digits[400];
    std::snprintf(digits, sizeof digits, "%.0f", value.get<double>());
    out += std::string_view(digits) == "-0" ? "0" : digits;
  } else {
    text::AppendJsonText(out, value);
  }
}

uint64_t Hash(const OrderedJson& value) {
  std::string text;
  AppendCanonical(text, value);
  return std::hash<std::string>()(text);
}

template <typename T>
bool Meet(const std::vector<T>& a, const std::vector<T>& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) return true;
    ++(*x < *y ? x : y);
  }
  return false;
}

}  // namespace

const SchemaOverlap::Facts* SchemaOverlap::FactsOf(const OrderedJson& given) {
  const OrderedJson* schema = &given;
  for (int steps = 0;; ++steps) {
    if (schema == nullptr || !schema->is_object() || steps == kMaxDepth) return nullptr;
    const OrderedJson* reference = FindMember(*schema, "$ref");
    if (reference == nullptr) break;
    schema = reference->is_string() ? references_.Find(reference->get_ref<const std::string&>()) : nullptr;
  }
  const auto [known, added] = facts_.try_emplace(schema);
  Facts& facts = known->second;
  if (!added) return &facts;
  facts.types = CertainTypes(*schema);
  for (const OrderedJson& value : ListedValues(*schema)) facts.listed.push_back(Hash(value));
  std::sort(facts.listed.begin(), facts.listed.end());
  if (const OrderedJson* properties = FindMember(*schema, "properties"); properties && properties->is_object()) {
    for (const auto& [name, property] : properties->get_ref<const OrderedJson::object_t&>()) {
      facts.properties.emplace(name, &property);
    }
  }
  if (const OrderedJson* required = FindMember(*schema, "required"); required != nullptr && required->is_array()) {
    for (const OrderedJson& name : *required) {
      if (name.is_string()) facts.required.push_back(name.get_ref<const std::string&>());
    }
    std::sort(facts.required.begin(), facts.required.end());
  }
  const OrderedJson* more = FindMember(*schema, "additionalProperties");
  facts.closed = more != nullptr && *more == false;
  return &facts;
}

bool SchemaOverlap::ObjectsDisjoint(const Facts& a, const Facts& b, int depth) {
  if (!a.types.IsOnly(TypeSet::kObject) || !b.types.IsOnly(TypeSet::kObject)) return false;
  const auto requires_foreign = [](const Facts& one, const Facts& other) {
    return other.closed && std::any_of(one.required.begin(), one.required.end(),
                                       [&](std::string_view name) { return !other.properties.contains(name); });
  };
  if (requires_foreign(a, b) || requires_foreign(b, a)) return true;
  std::vector<std::string_view> both;
  std::set_intersection(a.required.begin(), a.required.end(), b.required.begin(), b.required.end(),
                        std::back_inserter(both));
  return std::any_of(both.begin(), both.end(), [&](std::string_view name) {
    const auto of_a = a.properties.find(name), of_b = b.properties.find(name);
    return of_a != a.properties.end() && of_b != b.properties.end() &&
           Disjoint(*of_a->second, *of_b->second, depth + 1);
  });
}

bool SchemaOverlap::Disjoint(const OrderedJson& of_a, const OrderedJson& of_b, int depth) {
  if (depth > kMaxDepth || steps_left_ <= 0) return false;
  const Facts *a = FactsOf(of_a), *b = FactsOf(of_b);
  if (a == nullptr || b == nullptr) return false;
  for (const Facts* one : {a, b}) steps_left_ -= static_cast<int>(1 + one->listed.size() + one->required.size());
  if (steps_left_ <= 0) return false;
  if (!TypesMeet(a->types, b->types)) return true;
  if (!a->listed.empty() && !b->listed.empty()) return !Meet(a->listed, b->listed);
  return ObjectsDisjoint(*a, *b, depth);
}

}  // namespace hearth::grammar
