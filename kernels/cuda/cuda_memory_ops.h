#pragma once

#include "kernels/memory_ops.h"

namespace hearth::kernels {

const MemoryOps& CudaMemoryOps();
const StreamOps& CudaStreamOps();

}  // namespace hearth::kernels
