#pragma once

#include "gateway/grammar/schema_compiler.h"
#include "gateway/grammar/tool_grammar.h"

namespace hearth::grammar {

// Writes what stands between a function's name and the end of its call. One for each automaton.
class ToolArguments {
 public:
  ToolArguments(Builder& builder, JsonRules& rules, const MarkupIds& ids);

  // `parameters`: the function's schema or null. `place` is for messages.
  Result<PieceRef> Free(const text::OrderedJson* parameters);
  Result<PieceRef> Strict(const text::OrderedJson* parameters, const std::string& place);

 private:
  PieceRef Argument(const PieceRef& key, const PieceRef& value) const;
  // Any arguments, as one rule: there may be many functions that declare none.
  PieceRef Undeclared();
  // Every argument at most once, in any order, the required ones in any case.
  PieceRef AnyOrder(const std::vector<std::pair<PieceRef, bool>>& arguments);
  // The text of a value as the reader of calls will take it for one that is valid for `schema`.
  PieceRef StrictValue(SchemaCompiler& schemas, const text::OrderedJson& schema, const std::string& path);
  void RawWays(SchemaCompiler& schemas, const text::OrderedJson& schema, const std::string& path, bool mixed,
               std::vector<PieceRef>& ways);
  void RawListed(SchemaCompiler& schemas, const text::OrderedJson& schema, const std::string& path, bool mixed,
                 std::vector<PieceRef>& ways);

  Builder& builder_;
  JsonRules& rules_;
  SchemaBudget budget_;
  const MarkupIds ids_;
  PieceRef free_value_, free_key_;
  PieceRef undeclared_;  // null until it is needed
};

}  // namespace hearth::grammar
