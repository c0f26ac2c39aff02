#pragma once

#include <string_view>
#include <unordered_map>

#include "gateway/grammar/schema_keywords.h"

namespace hearth::grammar {

// Finds what the references of one schema name, each in time linear in its text: the members of an object that
// references lead through are indexed once.
class SchemaReferences {
 public:
  // `root` outlives this object and stays as it is.
  explicit SchemaReferences(const OrderedJson& root) : root_(root) {}

  // The target of a local reference, "#" or "#/...", or null.
  const OrderedJson* Find(std::string_view reference);

 private:
  const OrderedJson* Member(const OrderedJson& object, std::string_view name);

  const OrderedJson& root_;
  std::unordered_map<const OrderedJson*, std::unordered_map<std::string_view, const OrderedJson*>> members_;
};

}  // namespace hearth::grammar
