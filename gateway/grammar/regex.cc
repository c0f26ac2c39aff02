#include "gateway/grammar/regex.h"

#include "gateway/grammar/regex_reader.h"

namespace hearth::grammar {
namespace {

constexpr size_t kMaxRepeat = 1000;
constexpr int kMaxGroups = 64;
constexpr size_t kMaxExpressionBytes = 16 * 1024;

class Parser {
 public:
  Parser(std::string_view expression, const RegexOptions& options) : in_(expression), options_(options) {}

  Result<PieceRef> Parse() {
    PieceRef piece = Alternatives(/*depth=*/0);
    if (in_.status().ok() && in_.Looks(")")) in_.Fail("a ) without its (");
    if (!in_.status().ok()) return in_.status();
    return piece;
  }

 private:
  PieceRef Anything() { return Repeat(options_.write(CodePointSet::All()), 0, std::nullopt); }

  PieceRef Alternatives(int depth) {
    std::vector<PieceRef> ways;
    do {
      ways.push_back(Alternative(depth));
    } while (in_.Take("|"));
    return Choice(std::move(ways));
  }

  PieceRef Alternative(int depth) {
    std::vector<PieceRef> parts;
    bool from_start = depth > 0 || options_.whole, to_end = from_start;
    if (in_.Looks("^")) {
      if (depth > 0) in_.Fail("^ inside a group is not offered");
      in_.Take("^");
      from_start = true;
    }
    while (!in_.done() && !in_.Looks("|") && !in_.Looks(")")) {
      if (in_.Looks("$")) {
        in_.Take("$");
        if (depth > 0 || !(in_.done() || in_.Looks("|"))) in_.Fail("$ before the end is not offered");
        to_end = true;
        break;
      }
      parts.push_back(Quantified(depth));
    }
    if (!from_start) parts.insert(parts.begin(), Anything());
    if (!to_end) parts.push_back(Anything());
    return Sequence(std::move(parts));
  }

  PieceRef Quantified(int depth) {
    PieceRef atom = Atom(depth);
    if (in_.done()) return atom;
    size_t least = 0;
    std::optional<size_t> most;
    if (in_.Take("?")) {
      most = 1;
    } else if (in_.Take("*")) {
    } else if (in_.Take("+")) {
      least = 1;
    } else if (in_.Take("{")) {
      const std::optional<size_t> first = in_.Number();
      if (!first) in_.Fail("{ without a number is not offered; write \\{");
      least = first.value_or(0);
      most = least;
      if (in_.Take(",")) most = in_.Number();
      if (!in_.Take("}")) in_.Fail("the } of a quantifier is missing");
      if (least > kMaxRepeat || most.value_or(0) > kMaxRepeat) in_.Fail("more than 1000 repetitions are not offered");
      if (most && *most < least) in_.Fail("a quantifier ends before it begins");
    } else {
      return atom;
    }
    if (in_.Take("?")) return Repeat(std::move(atom), least, most);  // lazy: the same texts
    if (in_.Looks("+")) in_.Fail("a possessive quantifier is not offered");
    if (in_.Looks("*") || in_.Looks("{")) in_.Fail("two quantifiers in a row");
    return Repeat(std::move(atom), least, most);
  }

  PieceRef Atom(int depth) {
    if (in_.Take("(")) return Group(depth);
    if (in_.Take("[")) return Write(in_.Class());
    if (in_.Take("\\")) {
      if (in_.Looks("B") || in_.Looks("A") || in_.Looks("Z") || in_.Looks("z")) in_.Fail("an anchor is not offered");
      return Write(in_.Escape(/*in_class=*/false));
    }
    if (in_.Take(".")) return Write(CodePointSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).Complement());
    if (in_.Looks("^")) in_.Fail("^ behind the beginning is not offered");
    if (in_.Looks("*") || in_.Looks("+") || in_.Looks("?") || in_.Looks("{"))
      in_.Fail("a quantifier without anything before it");
    const uint32_t c = in_.Next();
    return Write(CodePointSet({{c, c}}));
  }

  PieceRef Group(int depth) {
    if (depth >= kMaxGroups) in_.Fail("more than 64 groups in each other are not offered");
    if (in_.Take("?")) {
      if (in_.Looks("=") || in_.Looks("!") || in_.Looks("<=") || in_.Looks("<!"))
        in_.Fail("look-around is not offered");
      if (in_.Take("P<") || in_.Take("<")) {
        while (!in_.done() && !in_.Take(">")) in_.Next();
      } else if (!in_.Take(":")) {
        in_.Fail("this kind of group is not offered");
      }
    }
    if (in_.done()) {
      in_.Fail("the ) of a group is missing");
      return Text("");
    }
    PieceRef inside = Alternatives(depth + 1);
    if (!in_.Take(")")) in_.Fail("the ) of a group is missing");
    return inside;
  }

  PieceRef Write(const CodePointSet& set) {
    if (in_.status().ok() && set.empty()) in_.Fail("a class without characters");
    return in_.status().ok() ? options_.write(set) : Text("");
  }

  RegexReader in_;
  const RegexOptions& options_;
};

}  // namespace

Result<PieceRef> ParseRegex(std::string_view expression, const RegexOptions& options) {
  if (expression.size() > kMaxExpressionBytes) {
    return InvalidArgument("has ", expression.size(), " bytes, at most ", kMaxExpressionBytes);
  }
  return Parser(expression, options).Parse();
}

}  // namespace hearth::grammar
