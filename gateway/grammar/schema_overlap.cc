#include "gateway/grammar/schema_overlap.h"

#include <algorithm>

namespace hearth::grammar {
namespace {

using text::FindMember;
using text::TypeSet;

constexpr int kMaxDepth = 8;

const OrderedJson* Resolve(const OrderedJson& root, const OrderedJson* schema) {
  for (int steps = 0; steps < kMaxDepth; ++steps) {
    if (schema == nullptr || !schema->is_object()) return nullptr;
    const OrderedJson* reference = FindMember(*schema, "$ref");
    if (reference == nullptr) return schema;
    schema = reference->is_string() ? FindReference(root, reference->get_ref<const std::string&>()) : nullptr;
  }
  return nullptr;
}

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

std::vector<OrderedJson> ListedValues(const OrderedJson& schema) {
  if (const OrderedJson* value = FindMember(schema, "const")) return {*value};
  const OrderedJson* values = FindMember(schema, "enum");
  if (values == nullptr || !values->is_array()) return {};
  return {values->begin(), values->end()};
}

bool Requires(const OrderedJson& schema, const std::string& name) {
  const OrderedJson* required = FindMember(schema, "required");
  return required != nullptr && required->is_array() &&
         std::find(required->begin(), required->end(), OrderedJson(name)) != required->end();
}

bool Disjoint(const OrderedJson& root, const OrderedJson* a, const OrderedJson* b, int depth, int& steps_left);

// `a` requires what `b` cannot have.
bool RequiresForeign(const OrderedJson& a, const OrderedJson& b) {
  const OrderedJson* more = FindMember(b, "additionalProperties");
  const OrderedJson* required = FindMember(a, "required");
  if (more == nullptr || *more != false || required == nullptr || !required->is_array()) return false;
  const OrderedJson* properties = FindMember(b, "properties");
  return std::any_of(required->begin(), required->end(), [&](const OrderedJson& name) {
    return name.is_string() &&
           (properties == nullptr || FindMember(*properties, name.get_ref<const std::string&>()) == nullptr);
  });
}

bool ObjectsDisjoint(const OrderedJson& root, const OrderedJson& a, const OrderedJson& b, int depth, int& steps_left) {
  if (!CertainTypes(a).IsOnly(TypeSet::kObject) || !CertainTypes(b).IsOnly(TypeSet::kObject)) return false;
  if (RequiresForeign(a, b) || RequiresForeign(b, a)) return true;
  const OrderedJson *of_a = FindMember(a, "properties"), *of_b = FindMember(b, "properties");
  if (of_a == nullptr || of_b == nullptr || !of_a->is_object()) return false;
  for (const auto& [name, schema] : of_a->items()) {
    const OrderedJson* other = FindMember(*of_b, name);
    if (other == nullptr || !Requires(a, name) || !Requires(b, name)) continue;
    if (Disjoint(root, &schema, other, depth + 1, steps_left)) return true;
  }
  return false;
}

bool Disjoint(const OrderedJson& root, const OrderedJson* a, const OrderedJson* b, int depth, int& steps_left) {
  if (depth > kMaxDepth || --steps_left < 0) return false;
  a = Resolve(root, a);
  b = Resolve(root, b);
  if (a == nullptr || b == nullptr) return false;
  if (!TypesMeet(CertainTypes(*a), CertainTypes(*b))) return true;
  const std::vector<OrderedJson> of_a = ListedValues(*a), of_b = ListedValues(*b);
  if (!of_a.empty() && !of_b.empty()) {
    return std::none_of(of_a.begin(), of_a.end(),
                        [&](const OrderedJson& v) { return std::find(of_b.begin(), of_b.end(), v) != of_b.end(); });
  }
  return ObjectsDisjoint(root, *a, *b, depth, steps_left);
}

}  // namespace

bool PlainlyDisjoint(const OrderedJson& root, const OrderedJson& a, const OrderedJson& b, int& steps_left) {
  return Disjoint(root, &a, &b, 0, steps_left);
}

}  // namespace hearth::grammar
