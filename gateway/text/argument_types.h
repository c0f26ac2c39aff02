#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gateway/text/json_text.h"

namespace hearth::text {

// A set of JSON types. Empty means that any type is allowed.
class TypeSet {
 public:
  enum Type : uint8_t {
    kString = 1,
    kInteger = 2,
    kNumber = 4,
    kBoolean = 8,
    kNull = 16,
    kObject = 32,
    kArray = 64,
    kUnknown = 128,  // a word that names no JSON type
  };
  constexpr TypeSet() = default;
  constexpr TypeSet(Type type) : bits_(type) {}

  bool empty() const { return bits_ == 0; }
  bool Has(Type type) const { return bits_ & type; }
  bool IsOnly(Type type) const { return bits_ == type; }
  void Add(TypeSet other) { bits_ |= other.bits_; }

 private:
  uint8_t bits_ = 0;
};

TypeSet::Type TypeOf(const OrderedJson& value);

// The types that a JSON schema allows, as far as its `type`, branches, `enum`, `const`, `properties`, `items` and
// `nullable` tell.
TypeSet AllowedTypes(const OrderedJson& schema);

// Names and parameter types of a request's tools; a copy, so the request need not live on.
class ToolTypes {
 public:
  // An array or null; entries without a name are passed over. Of two with the same name the first counts.
  explicit ToolTypes(const OrderedJson& tools);

  // Empty for an unknown tool or parameter.
  TypeSet Of(std::string_view tool, std::string_view parameter) const;
  // The longest name that `text` starts with; "" when there is none.
  std::string_view LongestNameAtStart(std::string_view text) const;

 private:
  std::map<std::string, std::map<std::string, TypeSet, std::less<>>, std::less<>> tools_;
};

}  // namespace hearth::text
