#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/automaton/automaton_walker.h"
#include "common/base/result.h"

namespace hearth::test {

// A text of bytes and added tokens.
using Mixed = std::vector<std::variant<std::string, int32_t>>;

// A compiled automaton that texts are tried on. Steps are shared, so trying many texts is cheap.
class Language {
 public:
  explicit Language(const Result<std::string>& bytes) {
    if (!bytes.ok()) {
      ADD_FAILURE() << bytes.status().message();
      return;
    }
    Result<Automaton> parsed = Automaton::Parse(*bytes);
    if (!parsed.ok()) {
      ADD_FAILURE() << parsed.status().message();
      return;
    }
    space_ = std::make_shared<WalkSpace>(std::make_shared<const PreparedAutomaton>(*std::move(parsed)));
  }

  bool Accepts(const std::string& text) const { return Accepts(Mixed{text}); }
  bool Accepts(const Mixed& text) const {
    if (space_ == nullptr) return false;
    AutomatonWalker walker(space_);
    for (const auto& part : text) {
      if (const auto* bytes = std::get_if<std::string>(&part)) {
        walker.AdvanceText(*bytes);
      } else {
        walker.AdvanceToken(std::get<int32_t>(part));
      }
    }
    return walker.can_end();
  }
  // Whether the text can go on to an accepted one.
  bool Begins(const std::string& text) const {
    if (space_ == nullptr) return false;
    AutomatonWalker walker(space_);
    walker.AdvanceText(text);
    return !walker.empty();
  }

 private:
  std::shared_ptr<WalkSpace> space_;
};

}  // namespace hearth::test
