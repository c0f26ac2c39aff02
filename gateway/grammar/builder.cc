#include "gateway/grammar/builder.h"

#include <algorithm>

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
  const std::vector<Utf8Block> blocks = Utf8Blocks(set);
  PieceRef characters = Characters(set);
  if (blocks.empty()) return characters;
  if (blocks.size() <= 4 && set.ranges().back().high < 0x80) return characters;
  PieceRef& known = classes_[set];
  if (!known) known = Rule(Add("character", characters));
  return known;
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
  EmitWords(words, 0, from);
}

// Sorted words that are alike in their first `done` bytes.
void Builder::EmitWords(std::span<const Word> words, size_t done, int32_t from) {
  while (!words.empty() && words.front().text.size() == done) {
    Empty(from, words.front().to);
    words = words.subspan(1);
  }
  while (!words.empty() && !full_) {
    const auto same = std::find_if(words.begin(), words.end(),
                                   [&](const Word& word) { return word.text[done] != words.front().text[done]; });
    const auto group = words.first(static_cast<size_t>(same - words.begin()));
    words = words.subspan(group.size());
    const std::string_view first = group.front().text, last = group.back().text;
    if (group.size() == 1) {
      Emit(Text(std::string(first.substr(done))), from, group.front().to);
      continue;
    }
    size_t alike = done;
    while (alike < std::min(first.size(), last.size()) && first[alike] == last[alike]) ++alike;
    const int32_t next = State();
    Emit(Text(std::string(first.substr(done, alike - done))), from, next);
    EmitWords(group, alike, next);
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
