#include "kernels/expert_ffn/expert_batch.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels {
namespace {

Backend MakeRefBackend() {
  Backend b;
  b.name = "ref";
  b.memory = &HostMemoryOps();
  b.streams = &HostStreamOps();
#define HEARTH_SET_OP(entry, function, arguments) b.entry = ref::function;
  HEARTH_OPS(HEARTH_SET_OP)
#undef HEARTH_SET_OP
  b.expert_ffn = ref::ExpertFfn;
  b.expert_batch = ExpertBatchOneByOne<ref::ExpertFfn>;
  b.expert_unit = ref::ExpertUnit;
  return b;
}

}  // namespace

const Backend& RefBackend() {
  static const Backend backend = MakeRefBackend();
  return backend;
}

}  // namespace hearth::kernels
