#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "gpu_worker/constraint/constraint_program.h"

namespace hearth {

// Turns serialized automata into programs and keeps the latest ones, so that requests with the same schema share what
// is worked out. Thread-safe.
class ConstraintCache {
 public:
  static constexpr size_t kMaxPrograms = 16;

  explicit ConstraintCache(std::shared_ptr<const ConstraintVocabulary> vocabulary)
      : vocabulary_(std::move(vocabulary)) {}
  // INVALID_ARGUMENT: the bytes are no automaton that can be walked, or it reads a token outside the vocabulary. Stop
  // ids are within the vocabulary.
  Result<std::shared_ptr<ConstraintProgram>> Get(std::string_view automaton, ConstraintProgram::Stops stops);

 private:
  struct Entry {
    std::string automaton;
    ConstraintProgram::Stops stops;
    std::shared_ptr<ConstraintProgram> program;
  };
  std::shared_ptr<ConstraintProgram> Find(std::string_view automaton, const ConstraintProgram::Stops& stops);

  const std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the latest first
};

}  // namespace hearth
