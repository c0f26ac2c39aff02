#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/loader/matrix_plan.h"

namespace hearth {

// Reads planned tensors and writes them in the form that the graph wants. All functions are thread-safe, are
// parallel inside for large matrices, and throw StartupError when a file cannot be read or when a value is infinite or
// no number.

// Strip layout (common/matrix/matrix_view.h) of the matrix; a plain one converted to `plain`, which is its own kind or
// kF32. `strips` has Geometry(plain).bytes() bytes.
void FillStrips(const TensorSource& source, const MatrixPlan& plan, WeightKind plain, std::byte* strips);
// suh or svh as fp16 bits; legacy sign fields become +-1.
void FillScale(const TensorSource& source, const MatrixPlan& plan, bool input_side, uint16_t* scale);
// The bias in fp32 [out_features]. That of a quantized module is an fp16 number by definition of the format.
void FillBias(const TensorSource& source, const MatrixPlan& plan, float* bias);
// The bytes of a tensor of numbers as they are.
void FillRaw(const TensorSource& source, const TensorInfo& tensor, std::byte* raw);
// Exact fp32 values of a tensor, in its own order.
void FillFloats(const TensorSource& source, const TensorInfo& tensor, float* values);
// The matrix as fp32, row-major [out_features, in_features]. A quantized one is dequantized:
// W = diag(suh) H Q H diag(svh) / 128 in double precision with H the unnormalised transforms, rounded once.
void FillDense(const TensorSource& source, const MatrixPlan& plan, float* dense);

}  // namespace hearth
