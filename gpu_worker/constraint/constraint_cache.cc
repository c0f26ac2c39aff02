#include "gpu_worker/constraint/constraint_cache.h"

namespace hearth {
namespace {

// A state that only such a token leaves would admit nothing.
Status CheckTokens(const Automaton& automaton, size_t vocabulary) {
  for (size_t state = 0; state < automaton.states.size(); ++state) {
    for (const Automaton::Edge& edge : automaton.states[state].edges) {
      if (edge.kind != Automaton::Edge::Kind::kToken) continue;
      if (edge.value >= 0 && static_cast<size_t>(edge.value) < vocabulary) continue;
      return InvalidArgument("state ", state, " reads the token ", edge.value, ", the vocabulary has ", vocabulary);
    }
  }
  return Status::Ok();
}

}  // namespace

std::shared_ptr<ConstraintProgram> ConstraintCache::Find(std::string_view automaton,
                                                         const ConstraintProgram::Stops& stops) {
  std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->automaton != automaton || entry->stops != stops) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->program;
  }
  return nullptr;
}

Result<std::shared_ptr<ConstraintProgram>> ConstraintCache::Get(std::string_view automaton,
                                                                ConstraintProgram::Stops stops) {
  if (std::shared_ptr<ConstraintProgram> known = Find(automaton, stops)) return known;
  Result<Automaton> parsed = Automaton::Parse(automaton);
  if (!parsed.ok()) return parsed.status();
  if (Status status = CheckTokens(*parsed, vocabulary_->size()); !status.ok()) return status;
  auto program = std::make_shared<ConstraintProgram>(*std::move(parsed), vocabulary_, stops);
  std::lock_guard lock(mutex_);
  entries_.push_front({std::string(automaton), std::move(stops), program});
  if (entries_.size() > kMaxPrograms) entries_.pop_back();
  return program;
}

}  // namespace hearth
