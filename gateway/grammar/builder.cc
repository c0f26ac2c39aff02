#include "gateway/grammar/builder.h"

#include <algorithm>
#include <span>

#include "common/automaton/automaton_facts.h"

namespace hearth::grammar {

Builder::Builder() { Reserve("all"); }

int32_t Builder::Reserve(std::string name) {
  if (automaton_.rules.size() >= Automaton::kMaxRules) {
    full_ = true;
    return 0;
  }
  automaton_.rules.push_back({.start = State(), .name = std::move(name)});
  return static_cast<int32_t>(automaton_.rules.size() - 1);
}

void Builder::Define(int32_t rule, const PieceRef& piece) { Emit(piece, Start(rule), State(/*end=*/true)); }

int32_t Builder::Add(std::string name, const PieceRef& piece) {
  const int32_t rule = Reserve(std::move(name));
  Define(rule, piece);
  return rule;
}

PieceRef Builder::Class(const CodePointSet& set) {
  if (const auto known = classes_.find(set); known != classes_.end()) return known->second;
  const std::vector<Utf8Block> blocks = Utf8Blocks(set);
  PieceRef characters = Characters(set);
  if (blocks.empty()) return characters;
  if (blocks.size() <= 4 && set.ranges().back().high < 0x80) return characters;
  return classes_[set] = Rule(Add("character", characters));
}

int32_t Builder::Start(int32_t rule) { return automaton_.rules[static_cast<size_t>(rule)].start; }

bool Builder::Room() {
  full_ = full_ || automaton_.states.size() >= Automaton::kMaxStates || edges_ >= Automaton::kMaxEdges;
  return !full_;
}

int32_t Builder::State(bool end) { return Room() ? automaton_.AddState(end) : 0; }

void Builder::Emit(const PieceRef& piece, int32_t from, int32_t to) {
  if (!Room()) return;
  ++edges_;
  switch (piece->kind) {
    case Piece::Kind::kText:
      edges_ += piece->text.size();
      if (automaton_.states.size() + piece->text.size() >= Automaton::kMaxStates) {
        full_ = true;
      } else {
        automaton_.AddText(from, piece->text, to);
      }
      return;
    case Piece::Kind::kBytes:
      return automaton_.AddBytes(from, piece->low, piece->high, to);
    case Piece::Kind::kToken:
      return automaton_.AddToken(from, piece->value, to);
    case Piece::Kind::kRule:
      return automaton_.AddCall(from, piece->value, to);
    case Piece::Kind::kSequence:
      if (piece->parts.empty()) return automaton_.AddEmpty(from, to);
      for (size_t i = 0; i < piece->parts.size(); ++i) {
        const int32_t next = i + 1 == piece->parts.size() ? to : State();
        Emit(piece->parts[i], from, next);
        from = next;
      }
      return;
    case Piece::Kind::kChoice: {
      std::vector<Word> words;
      for (const PieceRef& part : piece->parts) {
        if (part->kind == Piece::Kind::kText) {
          words.push_back({part->text, to});
        } else {
          Emit(part, from, to);
        }
      }
      return EmitWords(std::move(words), from);
    }
    case Piece::Kind::kRepeat:
      break;
  }
  const PieceRef& part = piece->parts.front();
  for (size_t i = 0; i < piece->least && !full_; ++i) {
    const int32_t next = State();
    Emit(part, from, next);
    from = next;
  }
  if (!piece->most) {
    const int32_t loop = State();
    automaton_.AddEmpty(from, loop);
    Emit(part, loop, loop);
    automaton_.AddEmpty(loop, to);
    return;
  }
  for (size_t i = piece->least; i < *piece->most && !full_; ++i) {
    const int32_t next = State();
    Emit(part, from, next);
    automaton_.AddEmpty(from, to);
    ++edges_;
    from = next;
  }
  automaton_.AddEmpty(from, to);
}

void Builder::EmitWords(std::vector<Word> words, int32_t from) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  // Sorted words that are alike in their first `done` bytes, which lead to `from`. A list of these instead of
  // recursion: words that are each the beginning of the next one nest as deep as there are words.
  struct Open {
    std::span<const Word> words;
    size_t done;
    int32_t from;
  };
  std::vector<Open> open = {{words, 0, from}};
  while (!open.empty() && !full_) {
    auto [left, done, at] = open.back();
    open.pop_back();
    while (!left.empty() && left.front().text.size() == done) {
      Empty(at, left.front().to);
      left = left.subspan(1);
    }
    while (!left.empty() && !full_) {
      const std::string_view first = left.front().text;
      const auto same = std::find_if(left.begin(), left.end(),
                                     [&, done = done](const Word& word) { return word.text[done] != first[done]; });
      const auto group = left.first(static_cast<size_t>(same - left.begin()));
      left = left.subspan(group.size());
      if (group.size() == 1) {
        Emit(Text(std::string(first.substr(done))), at, group.front().to);
        continue;
      }
      const std::string_view last = group.back().text;
      size_t alike = done;
      while (alike < std::min(first.size(), last.size()) && first[alike] == last[alike]) ++alike;
      const int32_t next = State();
      Emit(Text(std::string(first.substr(done, alike - done))), at, next);
      open.push_back({group, alike, next});
    }
  }
}

PieceRef Builder::Include(const Automaton& other) {
  const auto rules = static_cast<int32_t>(automaton_.rules.size());
  const auto states = static_cast<int32_t>(automaton_.states.size());
  full_ = full_ || automaton_.rules.size() + other.rules.size() > Automaton::kMaxRules ||
          automaton_.states.size() + other.states.size() > Automaton::kMaxStates;
  if (full_) return nothing_;
  for (const Automaton::Rule& rule : other.rules) automaton_.rules.push_back({rule.start + states, rule.name});
  for (Automaton::State state : other.states) {
    for (Automaton::Edge& edge : state.edges) {
      edge.target += states;
      if (edge.kind == Automaton::Edge::Kind::kCall) edge.value += rules;
    }
    edges_ += state.edges.size();
    automaton_.states.push_back(std::move(state));
  }
  return Rule(rules);
}

Result<std::string> Builder::Finish() {
  if (full_) {
    return InvalidArgument("is too large: at most ", Automaton::kMaxRules, " rules, ", Automaton::kMaxStates,
                           " states and ", Automaton::kMaxEdges, " edges are allowed");
  }
  if (LeftRecursion(automaton_)) return InvalidArgument("refers to itself with nothing in between");
  if (!ProductiveStates(automaton_)[static_cast<size_t>(Start(0))]) return InvalidArgument("admits no text at all");
  if (Status status = automaton_.Check(); !status.ok()) return InvalidArgument("is refused: ", status.message());
  return automaton_.Serialize();
}

}  // namespace hearth::grammar
