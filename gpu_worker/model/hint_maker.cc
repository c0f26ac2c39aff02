#include "gpu_worker/model/hint_maker.h"

namespace hearth {

HintMaker::HintMaker(const kernels::Backend& backend)
    : ops_(backend),
      copied_(backend.streams->make_mark()),
      ids_(backend),
      weights_(backend),
      host_ids_(backend),
      host_weights_(backend) {}

HintMaker::~HintMaker() { ops_.streams->release_mark(copied_); }

PickHints HintMaker::Make(kernels::RouterArgs router, int moe_layer) {
  const int64_t picks = router.rows * router.top_k;
  ids_.Grow(picks);
  weights_.Grow(picks);
  router.ids = ids_.data();
  router.weights = weights_.data();
  ops_.router(ops_.stream, router);
  if (ops_.memory->is_host) return {.moe_layer = moe_layer, .ids = ids_.data(), .weights = weights_.data()};

  host_ids_.Grow(picks);
  host_weights_.Grow(picks);
  const kernels::CopyPiece down[] = {{host_ids_.data(), ids_.data(), picks * sizeof(int32_t)},
                                     {host_weights_.data(), weights_.data(), picks * sizeof(kernels::Real)}};
  ops_.memory->copy_pieces(ops_.stream, down, 2);
  ops_.streams->record(ops_.stream, copied_);
  return {.moe_layer = moe_layer, .ids = host_ids_.data(), .weights = host_weights_.data(), .ready = copied_};
}

}  // namespace hearth
