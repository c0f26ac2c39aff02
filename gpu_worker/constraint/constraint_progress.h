#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu_worker/constraint/constraint_program.h"

namespace hearth {

// A request's wish, checked.
struct ConstraintSpec {
  std::shared_ptr<ConstraintProgram> program;
  std::optional<int32_t> start_after;  // the constraint begins behind this id; absent: at the first token
  bool must_begin = false;             // no stop id before that
};

// Where one generation stands in its constraint. Used by the step thread.
class ConstraintProgress {
 public:
  explicit ConstraintProgress(const ConstraintSpec& spec);

  // The ids that may come next; null: all of them. Valid until the next call to any generation of the program. An empty
  // mask where can_end() holds means that the generation is complete. Errors: INVALID_ARGUMENT when no mask can be
  // made, INTERNAL when nothing may come and the text cannot end.
  Result<const TokenMask*> Mask();
  // Takes a drawn or forced id. INVALID_ARGUMENT when the constraint does not admit it; then the generation must end.
  Status Advance(int32_t id);
  // The generation may end here as far as the constraint goes.
  bool can_end() const { return begun_ && walker_.can_end(); }

 private:
  const ConstraintSpec spec_;
  AutomatonWalker walker_;
  bool begun_;
  int64_t read_ = 0;  // tokens since it began
};

}  // namespace hearth
