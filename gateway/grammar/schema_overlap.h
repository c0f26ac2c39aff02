#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/grammar/schema_references.h"

namespace hearth::grammar {

// Tells schemas apart. What it needs of each one is read once.
class SchemaOverlap {
 public:
  // Looking at a schema, a listed value or a required name takes one of `steps_left`.
  SchemaOverlap(SchemaReferences& references, int& steps_left) : references_(references), steps_left_(steps_left) {}

  // Whether it is plain to see that no value is valid for both schemas: by their types, their listed values, or a
  // property that both require. False means only that it is not plain, which nothing is once no step is left.
  bool PlainlyDisjoint(const OrderedJson& a, const OrderedJson& b) { return Disjoint(a, b, 0); }

 private:
  struct Facts {
    text::TypeSet types;           // those that its values can have at all
    std::vector<uint64_t> listed;  // sorted hashes of the values of `const` or `enum`
    std::unordered_map<std::string_view, const OrderedJson*> properties;
    std::vector<std::string_view> required;  // sorted
    bool closed = false;                     // additionalProperties is false
  };
  // Null when a reference leads nowhere.
  const Facts* FactsOf(const OrderedJson& schema);
  bool Disjoint(const OrderedJson& a, const OrderedJson& b, int depth);
  bool ObjectsDisjoint(const Facts& a, const Facts& b, int depth);

  SchemaReferences& references_;
  int& steps_left_;
  std::unordered_map<const OrderedJson*, Facts> facts_;  // by schema, references followed
};

}  // namespace hearth::grammar
