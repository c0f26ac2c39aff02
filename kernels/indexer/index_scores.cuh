#pragma once

#include <cuda_runtime_api.h>

#include "kernels/indexer/indexer.h"

namespace hearth::kernels::cuda {

// scores[(row - row0) * stride + pool] of rows [row0, row0 + rows), for the visible pools of every row that sees more
// than max_selected. A score depends on its row and its pool alone. `most_pools` bounds what a row can see.
//
// Up to 32 heads of 128 with f16 keys run on tensor cores, queries as f16 pairs (high and low part: within about 2^-21
// of the query, sums in fp32); any other shape in fp32.
void IndexScores(cudaStream_t stream, const IndexSelectArgs& args, Dim row0, Dim rows, Dim most_pools, Dim stride,
                 float* scores);

}  // namespace hearth::kernels::cuda
