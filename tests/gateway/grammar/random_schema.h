#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "gateway/text/json_text.h"

namespace hearth::test {

using OrderedJson = nlohmann::ordered_json;

// Small random schemas, documents for them, and changes to documents.
class SchemaMaker {
 public:
  explicit SchemaMaker(uint32_t seed) : random_(seed) {}

  // Objects in it are closed, so that every key that is not listed makes a document invalid.
  OrderedJson Schema(int depth);
  OrderedJson Valid(const OrderedJson& schema);
  // The document with one place changed, of which it may well stay valid.
  OrderedJson Mutated(OrderedJson document);

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string Word();
  OrderedJson AnyScalar();

  std::mt19937 random_;
};

// By the rules of JSON schema, for the keywords that SchemaMaker writes; written apart from the compiler.
bool IsValid(const OrderedJson& schema, const OrderedJson& value);

}  // namespace hearth::test
