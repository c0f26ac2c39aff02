#include "gateway/openai/answer_format.h"

#include "gateway/grammar/answer_grammar.h"
#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

void Take(FieldReader& fields, const std::string& field, const std::string& place, Result<std::string> automaton,
          AnswerFormat& format) {
  if (!automaton.ok()) {
    fields.Fail(InvalidArgument(place, ": ", automaton.status().message()).WithParam(place));
  } else if (format.automaton) {
    fields.Fail(field, StrCat("contradicts ", format.field));
  } else {
    format = {std::make_shared<const std::string>(*std::move(automaton)), field};
  }
}

void OnlyKnown(FieldReader& reader, const OrderedJson& object, std::initializer_list<const char*> names) {
  for (const auto& [name, unused] : object.items()) {
    bool known = false;
    for (const char* one : names) known = known || name == one;
    if (!known) reader.Fail(name, "is not known here");
  }
}

void ReadSchema(FieldReader& fields, const OrderedJson& format, AnswerFormat& read) {
  FieldReader outer(format, "response_format.");
  const OrderedJson* given = outer.Object("json_schema");
  if (given == nullptr) outer.Fail("json_schema", "is missing");
  if (!outer.ok()) return fields.Fail(outer.status());
  FieldReader inner(*given, "response_format.json_schema.");
  OnlyKnown(inner, *given, {"name", "description", "schema", "strict"});
  const std::optional<std::string> name = inner.String("name");
  if (!name || name->empty()) inner.Fail("name", "is missing");
  inner.String("description");
  inner.Bool("strict");
  const OrderedJson* schema = inner.Object("schema");
  if (schema == nullptr) inner.Fail("schema", "is missing");
  if (!inner.ok()) return fields.Fail(inner.status());
  Take(fields, "response_format", inner.Path("schema"), grammar::CompileJsonSchema(*schema), read);
}

void ReadResponseFormat(FieldReader& fields, AnswerFormat& read) {
  const OrderedJson* format = fields.Object("response_format");
  if (format == nullptr) return;
  FieldReader inner(*format, "response_format.");
  const std::string type = inner.String("type").value_or("");
  if (type != "text" && type != "json_object" && type != "json_schema") {
    inner.Fail("type", "must be \"text\", \"json_object\" or \"json_schema\"");
  }
  OnlyKnown(inner, *format, {"type", type == "json_schema" ? "json_schema" : "type"});
  if (!inner.ok()) return fields.Fail(inner.status());
  if (type == "json_object") Take(fields, "response_format", "response_format", grammar::CompileJsonObject(), read);
  if (type == "json_schema") ReadSchema(fields, *format, read);
}

void ReadChoices(FieldReader& fields, AnswerFormat& read) {
  const OrderedJson* given = fields.Array("guided_choice");
  if (given == nullptr) return;
  std::vector<std::string> texts;
  for (const OrderedJson& text : *given) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) {
      return fields.Fail("guided_choice", StrCat("holds ", Shown(text), ", expected strings that are not empty"));
    }
    texts.push_back(text.get<std::string>());
  }
  if (texts.empty() || texts.size() > kMaxChoiceTexts) {
    return fields.Fail("guided_choice", StrCat("has ", texts.size(), " texts, expected 1 to ", kMaxChoiceTexts));
  }
  Take(fields, "guided_choice", "guided_choice", grammar::CompileChoice(texts), read);
}

}  // namespace

AnswerFormat ReadAnswerFormat(FieldReader& fields) {
  AnswerFormat read;
  ReadResponseFormat(fields, read);
  if (const std::optional<std::string> expression = fields.String("guided_regex")) {
    Take(fields, "guided_regex", "guided_regex", grammar::CompileRegex(*expression), read);
  }
  ReadChoices(fields, read);
  const bool ignores_end = fields.Bool("ignore_eos").value_or(false);
  if (read.automaton && ignores_end) fields.Fail("ignore_eos", StrCat("must be false beside ", read.field));
  return read;
}

}  // namespace hearth::openai
