#include "tests/gateway/grammar/random_schema.h"

#include <algorithm>

#include "gateway/text/utf8.h"

namespace hearth::test {
namespace {

size_t Characters(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += text::CodePointAt(text, at).bytes) ++count;
  return count;
}

bool HasType(const std::string& type, const OrderedJson& value) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return type == "object" ? value.is_object() : value.is_array();
}

}  // namespace

std::string SchemaMaker::Word() {
  constexpr const char* kLetters[] = {"a", "b", "\"", "\\", "é", "\n", "😀", " ", "/", "7"};
  std::string out;
  for (int size = Pick(6); size > 0; --size) out += kLetters[Pick(10)];
  return out;
}

OrderedJson SchemaMaker::AnyScalar() {
  switch (Pick(5)) {
    case 0:
      return nullptr;
    case 1:
      return Pick(2) == 0;
    case 2:
      return Pick(200) - 100;
    case 3:
      return (Pick(2000) - 1000) / 8.0;
    default:
      return Word();
  }
}

OrderedJson SchemaMaker::Schema(int depth) {
  OrderedJson schema = OrderedJson::object();
  switch (Pick(depth > 0 ? 10 : 7)) {
    case 0:
      return {{"type", Pick(2) ? "boolean" : "null"}};
    case 1:
      schema["type"] = "integer";
      if (Pick(2)) schema["minimum"] = Pick(100) - 90;
      if (Pick(2)) schema["exclusiveMaximum"] = Pick(100) + 20;
      return schema;
    case 2:
      schema["type"] = "number";
      if (Pick(2)) schema["exclusiveMinimum"] = (Pick(100) - 90) / 4.0;
      if (Pick(2)) schema["maximum"] = (Pick(100) + 20) / 2.0;
      return schema;
    case 3:
    case 4:
      schema["type"] = "string";
      if (Pick(2)) schema["minLength"] = Pick(3);
      if (Pick(2)) schema["maxLength"] = Pick(4) + 2;
      return schema;
    case 5:
      schema["enum"] = {AnyScalar(), AnyScalar(), AnyScalar()};
      return schema;
    case 6:
      return {{"type", {"integer", "null", "string"}}};
    case 7:
      schema["type"] = "array";
      schema["items"] = Schema(depth - 1);
      if (Pick(2)) schema["minItems"] = Pick(3);
      if (Pick(2)) schema["maxItems"] = Pick(3) + 2;
      return schema;
    case 8:
      schema["anyOf"] = {Schema(depth - 1), Schema(depth - 1)};
      return schema;
    default:
      break;
  }
  schema["type"] = "object";
  schema["properties"] = OrderedJson::object();
  schema["required"] = OrderedJson::array();
  for (int i = Pick(5); i > 0; --i) {
    const std::string name = std::string("p") + std::to_string(i) + (Pick(4) == 0 ? "\"é" : "");
    schema["properties"][name] = Schema(depth - 1);
    if (Pick(2)) schema["required"].push_back(name);
  }
  schema["additionalProperties"] = false;
  return schema;
}

OrderedJson SchemaMaker::Valid(const OrderedJson& schema) {
  if (schema.contains("enum")) return schema["enum"][static_cast<size_t>(Pick(3))];
  if (schema.contains("anyOf")) return Valid(schema["anyOf"][static_cast<size_t>(Pick(2))]);
  if (schema["type"].is_array()) return Pick(2) ? OrderedJson(Word()) : Pick(2) ? OrderedJson(Pick(99)) : OrderedJson();
  const std::string type = schema["type"];
  if (type == "null") return nullptr;
  if (type == "boolean") return Pick(2) == 0;
  if (type == "array") {
    const int least = schema.value("minItems", 0);
    OrderedJson out = OrderedJson::array();
    for (int i = least + Pick(schema.value("maxItems", least + 3) - least + 1); i > 0; --i) {
      out.push_back(Valid(schema["items"]));
    }
    return out;
  }
  if (type == "object") {
    OrderedJson out = OrderedJson::object();
    for (const auto& [name, property] : schema["properties"].items()) {
      const OrderedJson& required = schema["required"];
      const bool needed = std::find(required.begin(), required.end(), OrderedJson(name)) != required.end();
      if (needed || Pick(2)) out[name] = Valid(property);
    }
    return out;
  }
  for (int attempt = 0; attempt < 10000; ++attempt) {
    OrderedJson value = type == "string"    ? OrderedJson(Word())
                        : type == "integer" ? OrderedJson(Pick(300) - 150)
                                            : OrderedJson((Pick(2000) - 1000) / 16.0);
    if (IsValid(schema, value)) return value;
  }
  return "no value found";
}

OrderedJson SchemaMaker::Mutated(OrderedJson document) {
  if (document.is_structured() && !document.empty() && Pick(3)) {
    const auto at = std::next(document.begin(), Pick(static_cast<int>(document.size())));
    if (Pick(4) == 0) {
      document.erase(at);
    } else {
      *at = Mutated(*at);
    }
    return document;
  }
  if (document.is_object()) {
    document["q" + std::to_string(Pick(3))] = AnyScalar();
    return document;
  }
  if (document.is_array()) {
    document.push_back(AnyScalar());
    return document;
  }
  if (document.is_string() && Pick(2)) return document.get<std::string>() + "é";
  if (document.is_number_integer() && Pick(2)) return document.get<int>() + (Pick(2) ? 1 : -100);
  return AnyScalar();
}

bool IsValid(const OrderedJson& schema, const OrderedJson& value) {
  if (schema.contains("enum")) {
    return std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end();
  }
  if (schema.contains("anyOf")) {
    return std::any_of(schema["anyOf"].begin(), schema["anyOf"].end(),
                       [&](const OrderedJson& one) { return IsValid(one, value); });
  }
  const OrderedJson types = schema["type"].is_array() ? schema["type"] : OrderedJson::array({schema["type"]});
  if (std::none_of(types.begin(), types.end(), [&](const OrderedJson& t) { return HasType(t, value); })) return false;
  if (value.is_string()) {
    const size_t size = Characters(value);
    return size >= schema.value("minLength", size_t{0}) && size <= schema.value("maxLength", size);
  }
  if (value.is_number()) {
    const double x = value;
    return x >= schema.value("minimum", x) && x <= schema.value("maximum", x) &&
           x > schema.value("exclusiveMinimum", x - 1) && x < schema.value("exclusiveMaximum", x + 1);
  }
  if (value.is_array()) {
    return value.size() >= schema.value("minItems", size_t{0}) &&
           value.size() <= schema.value("maxItems", value.size()) &&
           std::all_of(value.begin(), value.end(),
                       [&](const OrderedJson& one) { return IsValid(schema["items"], one); });
  }
  if (!value.is_object()) return true;
  for (const OrderedJson& name : schema["required"]) {
    if (!value.contains(name.get<std::string>())) return false;
  }
  return std::all_of(value.items().begin(), value.items().end(), [&](const auto& member) {
    return schema["properties"].contains(member.key()) && IsValid(schema["properties"][member.key()], member.value());
  });
}

}  // namespace hearth::test
