#include "gpu_worker/constraint/constraint_progress.h"

namespace hearth {

ConstraintProgress::ConstraintProgress(const ConstraintSpec& spec)
    : spec_(spec), walker_(spec.program->Start()), begun_(!spec.start_after.has_value()) {}

Result<const TokenMask*> ConstraintProgress::Mask() {
  if (!begun_) return spec_.must_begin ? &spec_.program->all_but_stops() : nullptr;
  Result<const TokenMask*> mask = spec_.program->MaskFor(walker_);
  if (!mask.ok() || !(*mask)->empty || can_end()) return mask;
  if ((*mask)->cut) {
    return Internal("the constraint admits no token after ", read_, " tokens: the text is nested more than ",
                    WalkSpace::kMaxDepth, " rules deep, or has more than ", WalkSpace::kMaxConfigurations, " readings");
  }
  return Internal("the constraint admits no token after ", read_, " tokens, and the text cannot end there");
}

Status ConstraintProgress::Advance(int32_t id) {
  ConstraintProgram& program = *spec_.program;
  const bool stop = program.IsStop(id);
  if (!begun_) {
    if (stop && spec_.must_begin)
      return InvalidArgument("token ", id, " would end the text before the constraint begins");
    begun_ = id == spec_.start_after;
    return Status::Ok();
  }
  if (stop) {
    if (can_end()) return Status::Ok();
    return InvalidArgument("token ", id, " would end the text where the constraint does not let it end");
  }
  program.Advance(walker_, id);
  if (walker_.empty()) {
    return InvalidArgument("the constraint does not admit token ", id, " after ", read_, " tokens");
  }
  ++read_;
  return Status::Ok();
}

}  // namespace hearth
