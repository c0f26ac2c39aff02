#include "gateway/grammar/tool_arguments.h"

#include <algorithm>
#include <cctype>

#include "gateway/grammar/free_text.h"
#include "gateway/text/argument_types.h"
#include "gateway/text/utf8.h"

namespace hearth::grammar {

using text::FindMember;
using text::OrderedJson;
using text::TypeSet;

namespace {

// Up to so many arguments come in any order, each once: one state for each set of them.
constexpr size_t kMaxAnyOrder = 6;
// Arguments of a call whose function declares none.
constexpr size_t kMaxUndeclared = 32;

// Whether a key or a value can stand between tags and be read back the same.
bool CanStand(const std::string& text) { return text.find('<') == std::string::npos; }
bool CanBeKey(const std::string& key) { return CanStand(key) && !key.empty() && text::TrimSpace(key) == key; }

// Whether the reader of calls would take a text for something else than a string, given the chance.
bool LooksLikeJson(const std::string& raw) {
  std::string lower(text::TrimSpace(raw));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "none" || lower == "null" || lower == "true" || lower == "false" ||
         text::ParseJsonKeepingNumbers(raw).ok();
}

}  // namespace

ToolArguments::ToolArguments(Builder& builder, JsonRules& rules, const MarkupIds& ids)
    : builder_(builder), rules_(rules), ids_(ids) {
  const int32_t value = builder_.Reserve("value");
  EmitFreeText(builder_, {.without = {"</arg_value>", "</tool_call>"}}, builder_.Start(value), builder_.State(true));
  free_value_ = Rule(value);
  CodePointSet key = CodePointSet({{0, ' '}, {'<', '<'}, {0x7F, 0xA0}}).Complement();
  free_key_ = Repeat(builder_.Class(key), 1, 128);
}

PieceRef ToolArguments::Argument(const PieceRef& key, const PieceRef& value) const {
  return Sequence({Token(ids_.key), key, Token(ids_.key_end), Token(ids_.value), value, Token(ids_.value_end)});
}

PieceRef ToolArguments::AnyOrder(const std::vector<std::pair<PieceRef, bool>>& arguments) {
  const size_t count = arguments.size();
  size_t required = 0;
  for (size_t i = 0; i < count; ++i) required |= size_t{arguments[i].second} << i;
  const int32_t rule = builder_.Reserve("arguments");
  const int32_t end = builder_.State(/*end=*/true);
  std::vector<int32_t> states(size_t{1} << count);
  for (size_t set = 0; set < states.size(); ++set) states[set] = set == 0 ? builder_.Start(rule) : builder_.State();
  for (size_t set = 0; set < states.size() && !builder_.full(); ++set) {
    if ((set & required) == required) builder_.Empty(states[set], end);
    for (size_t i = 0; i < count; ++i) {
      if ((set >> i & 1) == 0) builder_.Emit(arguments[i].first, states[set], states[set | size_t{1} << i]);
    }
  }
  return Rule(rule);
}

PieceRef ToolArguments::Undeclared() {
  if (!undeclared_) {
    undeclared_ = Rule(builder_.Add("undeclared", Repeat(Argument(free_key_, free_value_), 0, kMaxUndeclared)));
  }
  return undeclared_;
}

Result<PieceRef> ToolArguments::Free(const OrderedJson* parameters) {
  const bool declares = parameters != nullptr && (FindMember(*parameters, "properties") != nullptr ||
                                                  FindMember(*parameters, "required") != nullptr);
  if (!declares) return Undeclared();
  SchemaCompiler schemas(builder_, rules_, *parameters, budget_);
  std::vector<std::pair<PieceRef, bool>> arguments;
  size_t required = 0;
  std::vector<PieceRef> keys;
  for (const SchemaCompiler::Property& property : schemas.Properties(*parameters, "#")) {
    if (!CanBeKey(property.name)) {
      if (property.required) schemas.Fail("the name", property.path, "cannot be written in a call");
      continue;
    }
    keys.push_back(Text(property.name));
    arguments.emplace_back(Rule(builder_.Add("argument", Argument(keys.back(), free_value_))), property.required);
    required += property.required;
  }
  if (!schemas.status().ok()) return schemas.status();
  if (arguments.empty()) return Text("");
  if (arguments.size() <= kMaxAnyOrder) return AnyOrder(arguments);
  const size_t most = keys.size();
  return Repeat(Rule(builder_.Add("argument", Argument(Choice(std::move(keys)), free_value_))), required, most);
}

Result<PieceRef> ToolArguments::Strict(const OrderedJson* parameters, const std::string& place) {
  static const OrderedJson kNone = OrderedJson::object();
  const OrderedJson& schema = parameters == nullptr ? kNone : *parameters;
  SchemaCompiler schemas(builder_, rules_, schema, budget_);
  schemas.TakeBudget();
  if (const OrderedJson* more = FindMember(schema, "additionalProperties"); more != nullptr && *more != false) {
    schemas.Fail("additionalProperties", "#", "must be false or absent in a strict function");
  }
  for (const auto& [keyword, value] : schema.items()) {
    const bool fine = keyword == "type" || keyword == "properties" || keyword == "required" ||
                      keyword == "additionalProperties" || IsAnnotation(keyword);
    if (!fine) schemas.Fail(keyword, "#", "is not offered in a strict function");
  }
  if (const OrderedJson* type = FindMember(schema, "type"); type != nullptr && *type != "object") {
    schemas.Fail("type", "#", "must be \"object\" in a strict function");
  }
  std::vector<PieceRef> parts;
  for (const SchemaCompiler::Property& property : schemas.Properties(schema, "#")) {
    if (!schemas.status().ok()) break;
    if (!CanBeKey(property.name)) schemas.Fail("the name", property.path, "cannot be written in a call");
    const PieceRef value =
        property.schema == nullptr ? rules_.Value() : StrictValue(schemas, *property.schema, property.path);
    const PieceRef argument = Argument(Text(property.name), value);
    parts.push_back(property.required ? argument : Optional(argument));
  }
  schemas.Finish();
  if (!schemas.status().ok()) return InvalidArgument(place, ": ", schemas.status().message());
  return Sequence(std::move(parts));
}

PieceRef ToolArguments::StrictValue(SchemaCompiler& schemas, const OrderedJson& schema, const std::string& path) {
  const TypeSet types = text::AllowedTypes(schema);
  const PieceRef as_json = schemas.Compile(schema, path);  // refuses what is outside the subset
  // Where no string is expected the reader takes a value for the JSON that it is.
  if (!types.Has(TypeSet::kString) || !schemas.status().ok()) return as_json;
  std::vector<PieceRef> ways;
  RawWays(schemas, schema, path, !types.IsOnly(TypeSet::kString), ways);
  return Choice(std::move(ways));
}

void ToolArguments::RawWays(SchemaCompiler& schemas, const OrderedJson& schema, const std::string& path, bool mixed,
                            std::vector<PieceRef>& ways) {
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    const OrderedJson* branches = FindMember(schema, keyword);
    if (branches == nullptr) continue;
    for (size_t i = 0; i < branches->size(); ++i) {
      RawWays(schemas, (*branches)[i], SchemaCompiler::Below(path, StrCat(keyword, "/", i)), mixed, ways);
    }
    return;
  }
  if (!schema.is_object() || schema.contains("$ref")) {
    return schemas.Fail("a schema without a type", path, "beside a string is not offered in a strict function");
  }
  if (schema.contains("const") || schema.contains("enum")) return RawListed(schemas, schema, path, mixed, ways);
  const TypeSet types = CompiledTypes(schema);
  if (types.Has(TypeSet::kString)) {
    const bool plain = !schema.contains("pattern") && !schema.contains("format") && !schema.contains("minLength") &&
                       !schema.contains("maxLength");
    const auto write = [this](const CodePointSet& set) {
      return builder_.Class(set.Without(CodePointSet({{'<', '<'}})));
    };
    ways.push_back(plain ? free_value_ : schemas.StringText(schema, path, write(CodePointSet::All()), write));
  }
  // A string may read as one of these; it is valid then only if any of them is.
  for (const char* keyword : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
    if (mixed && schema.contains(keyword)) {
      schemas.Fail(keyword, path, "beside a string is not offered in a strict function");
    }
  }
  if (types.Has(TypeSet::kObject) || types.Has(TypeSet::kArray)) {
    schemas.Fail("type", path, "is an object or a list beside a string, which is not offered in a strict function");
  }
  if (types.Has(TypeSet::kNull)) ways.push_back(rules_.Null());
  if (types.Has(TypeSet::kBoolean)) ways.push_back(rules_.Boolean());
  if (types.Has(TypeSet::kNumber)) {
    ways.push_back(rules_.Number());
  } else if (types.Has(TypeSet::kInteger)) {
    ways.push_back(rules_.Integer());
  }
}

void ToolArguments::RawListed(SchemaCompiler& schemas, const OrderedJson& schema, const std::string& path, bool mixed,
                              std::vector<PieceRef>& ways) {
  for (const OrderedJson& value : ListedValues(schema)) {
    if (!value.is_string()) {
      // Another value of the same type in a text that was meant as a string would not be listed.
      ways.push_back(Text(rules_.TextOf(value)));
      continue;
    }
    const std::string& raw = value.get_ref<const std::string&>();
    if (!CanStand(raw) || (mixed && LooksLikeJson(raw))) {
      schemas.Fail(StrCat("the value ", text::JsonText(value)), path,
                   "cannot be told from markup or from other types in a call");
    }
    ways.push_back(Text(raw));
  }
}

}  // namespace hearth::grammar
