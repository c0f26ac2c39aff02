#include "gpu_worker/constraint/constraint_cache.h"

namespace hearth {

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
  auto program = std::make_shared<ConstraintProgram>(*std::move(parsed), vocabulary_, stops);
  std::lock_guard lock(mutex_);
  entries_.push_front({std::string(automaton), std::move(stops), program});
  if (entries_.size() > kMaxPrograms) entries_.pop_back();
  return program;
}

}  // namespace hearth
