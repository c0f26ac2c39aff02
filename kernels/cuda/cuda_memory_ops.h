#pragma once

#include "kernels/memory_ops.h"

namespace hearth::kernels {

const MemoryOps& CudaMemoryOps();

}  // namespace hearth::kernels
