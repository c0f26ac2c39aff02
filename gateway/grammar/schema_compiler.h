#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "gateway/grammar/json_rules.h"
#include "gateway/grammar/schema_overlap.h"

namespace hearth::grammar {

// Bounds of what a schema may ask for.
inline constexpr size_t kMaxStringLength = 8192, kMaxItems = 4096, kMaxParts = 20'000;

// What is left of the bounds that all schemas of one automaton share: the time to compile them is about linear in what
// they take of it.
struct SchemaBudget {
  static constexpr size_t kMaxValues = 50'000, kMaxBytes = 4 << 20;
  static constexpr int kMaxComparisons = 500'000;
  size_t values = kMaxValues;         // JSON values, containers included
  size_t bytes = kMaxBytes;           // in names and strings
  int comparisons = kMaxComparisons;  // below oneOf, see SchemaOverlap
};

// Turns JSON schemas into pieces whose texts are valid for them. docs/api.md lists the subset; anything outside it
// fails, naming the keyword and where it stands. Texts are a subset of the valid ones: properties in the schema's
// order, strings with a pattern, listed values and keys as json.dumps writes them.
class SchemaCompiler {
 public:
  // `root` resolves references. Everything outlives this object.
  SchemaCompiler(Builder& builder, JsonRules& rules, const OrderedJson& root, SchemaBudget& budget)
      : builder_(builder), rules_(rules), root_(root), budget_(budget) {}

  // Takes the whole schema from the budget, or fails. Once, before anything is compiled.
  void TakeBudget();

  // `path`: "#" or "#/properties/a", for messages.
  PieceRef Compile(const OrderedJson& schema, const std::string& path);
  // Writes the rules of references met so far. Once, at the end.
  void Finish();

  // The members of an object schema, in the order they are written.
  struct Property {
    std::string name;
    const OrderedJson* schema = nullptr;  // null: any value
    bool required = false;
    std::string path;
  };
  std::vector<Property> Properties(const OrderedJson& schema, const std::string& path);
  // A string that obeys the keywords of `schema`: each character through `write`, between quotes or not.
  PieceRef StringText(const OrderedJson& schema, const std::string& path, const PieceRef& any_character,
                      const std::function<PieceRef(const CodePointSet&)>& write);

  // The path of what stands below another; where that becomes long it ends in "..".
  static std::string Below(const std::string& path, const std::string& step);
  void Fail(const std::string& keyword, const std::string& path, const std::string& why);
  // The first failure; its message names keyword and path.
  const Status& status() const { return status_; }

 private:
  PieceRef Reference(const OrderedJson& schema, const std::string& path);
  PieceRef Branches(const OrderedJson& schema, const std::string& keyword, const std::string& path);
  PieceRef Listed(const OrderedJson& schema, const std::string& path);
  PieceRef Typed(const OrderedJson& schema, text::TypeSet::Type type, const std::string& path);
  PieceRef String(const OrderedJson& schema, const std::string& path);
  PieceRef Number(const OrderedJson& schema, const std::string& path, bool whole);
  PieceRef Object(const OrderedJson& schema, const std::string& path);
  PieceRef Array(const OrderedJson& schema, const std::string& path);
  PieceRef ForeignKey(const std::vector<Property>& known);
  void DefineObject(int32_t rule, const std::vector<Property>& properties, const PieceRef& foreign_member);

  bool CheckKeywords(const OrderedJson& schema, const std::string& path);
  // False, with a failure, when another keyword than `allowed` asserts something beside `keyword`.
  bool Alone(const OrderedJson& schema, const std::string& keyword, std::initializer_list<const char*> allowed,
             const std::string& path);
  std::optional<size_t> Count(const OrderedJson& schema, const char* keyword, size_t most, const std::string& path);

  Builder& builder_;
  JsonRules& rules_;
  const OrderedJson& root_;
  SchemaBudget& budget_;
  SchemaReferences targets_{root_};
  SchemaOverlap overlap_{targets_, budget_.comparisons};
  struct Pending {
    const OrderedJson* schema;
    std::string path;
    int32_t rule;
  };
  std::map<const OrderedJson*, int32_t> references_;  // rules by target
  std::deque<Pending> pending_;
  size_t parts_ = 0;  // schemas compiled so far
  Status status_;
};

}  // namespace hearth::grammar
