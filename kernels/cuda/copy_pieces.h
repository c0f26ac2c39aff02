#pragma once

#include "kernels/memory_ops.h"

namespace hearth::kernels::cuda {

// MemoryOps::copy_pieces.
void CopyPieces(void* stream, const CopyPiece* pieces, int count);

}  // namespace hearth::kernels::cuda
