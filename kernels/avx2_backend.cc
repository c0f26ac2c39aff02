#include "kernels/avx2_ops.h"
#include "kernels/expert_ffn/expert_batch.h"

namespace hearth::kernels {
namespace {

Backend MakeAvx2Backend() {
  Backend b = RefBackend();
  b.name = "avx2";
#define HEARTH_SET_OP(entry, function, arguments) b.entry = avx2::function;
  HEARTH_OPS(HEARTH_SET_OP)
#undef HEARTH_SET_OP
  b.expert_ffn = avx2::ExpertFfn;
  b.expert_batch = ExpertBatchOneByOne<avx2::ExpertFfn>;
  b.expert_unit = avx2::ExpertUnit;
  return b;
}

}  // namespace

const Backend& Avx2Backend() {
  static const Backend backend = MakeAvx2Backend();
  return backend;
}

}  // namespace hearth::kernels
