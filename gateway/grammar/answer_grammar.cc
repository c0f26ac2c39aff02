#include "gateway/grammar/answer_grammar.h"

#include "gateway/grammar/regex.h"
#include "gateway/grammar/schema_compiler.h"

namespace hearth::grammar {

Result<std::string> CompileJsonObject() {
  Builder builder;
  JsonRules rules(builder);
  builder.Define(0, rules.Object());
  return builder.Finish();
}

Result<std::string> CompileJsonSchema(const text::OrderedJson& schema) {
  Builder builder;
  JsonRules rules(builder);
  SchemaBudget budget;
  SchemaCompiler compiler(builder, rules, schema, budget);
  compiler.TakeBudget();
  builder.Define(0, compiler.Compile(schema, "#"));
  compiler.Finish();
  if (!compiler.status().ok()) return compiler.status();
  return builder.Finish();
}

Result<std::string> CompileRegex(const std::string& expression) {
  Builder builder;
  const RegexOptions options{.write = [&](const CodePointSet& set) { return builder.Class(set); }};
  Result<PieceRef> piece = ParseRegex(expression, options);
  if (!piece.ok()) return piece.status();
  builder.Define(0, *piece);
  return builder.Finish();
}

Result<std::string> CompileChoice(const std::vector<std::string>& texts) {
  Builder builder;
  std::vector<PieceRef> ways;
  for (const std::string& text : texts) ways.push_back(Text(text));
  builder.Define(0, Choice(std::move(ways)));
  return builder.Finish();
}

}  // namespace hearth::grammar
