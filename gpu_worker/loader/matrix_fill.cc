#include "gpu_worker/loader/matrix_fill.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/base/float16.h"
#include "common/parallel/parallel_for.h"
#include "gpu_worker/loader/aligned_buffer.h"
#include "kernels/exl3/exl3.h"

namespace hearth {
namespace {

using kernels::Dim;

constexpr Dim kBlock = 128;
constexpr Dim kStripsPerTask = 8;

// In-place unnormalised Walsh-Hadamard transform of 128 values `stride` apart. Sums of fp16 values of this number are
// exact in double precision, so their order does not matter.
void Hadamard128(double* x, Dim stride) {
  for (Dim half = 1; half < kBlock; half *= 2) {
    for (Dim i = 0; i < kBlock; i += 2 * half) {
      for (Dim j = i; j < i + half; ++j) {
        const double a = x[j * stride], b = x[(j + half) * stride];
        x[j * stride] = a + b;
        x[(j + half) * stride] = a - b;
      }
    }
  }
}

// One NaN in a weight makes every logit NaN and every choice of experts meaningless.
void CheckFinite(const TensorSource& source, const TensorInfo& tensor, const std::byte* raw) {
  const uint64_t count = tensor.bytes / static_cast<uint64_t>(DTypeBytes(tensor.dtype));
  const auto refuse = [&](uint64_t i) { RefuseTensor(source, tensor, "element ", i, " is infinite or no number"); };
  if (tensor.dtype == DType::kF32) {
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, raw + 4 * i, 4);
      if ((bits & 0x7F800000) == 0x7F800000) refuse(i);
    }
    return;
  }
  const uint16_t exponent = tensor.dtype == DType::kF16 ? 0x7C00 : 0x7F80;
  for (uint64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, raw + 2 * i, 2);
    if ((bits & exponent) == exponent) refuse(i);
  }
}

void ToFloats(const std::byte* raw, DType dtype, uint64_t count, float* values) {
  if (dtype == DType::kF32) {
    std::memcpy(values, raw, count * 4);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, raw + 2 * i, 2);
    values[i] = dtype == DType::kF16 ? F16ToFloat(bits) : Bf16ToFloat(bits);
  }
}

void DenseExl3(const TensorSource& source, const MatrixPlan& plan, float* dense) {
  MatrixView view = plan.Geometry(WeightKind::kF32);
  AlignedBuffer strips(static_cast<size_t>(view.bytes()));
  FillStrips(source, plan, WeightKind::kF32, strips.data());
  view.data = strips.data();
  const Dim rows = plan.in_padded, columns = plan.out_padded;
  std::vector<uint16_t> q(static_cast<size_t>(rows * columns));
  kernels::Exl3DecodeInner(view, q.data());
  std::vector<uint16_t> suh(static_cast<size_t>(rows)), svh(static_cast<size_t>(columns));
  FillScale(source, plan, true, suh.data());
  FillScale(source, plan, false, svh.data());
  ParallelFor(columns / kBlock, [&](Dim strip) {
    std::vector<double> block(kBlock * kBlock);
    for (Dim row = 0; row < rows; row += kBlock) {
      for (Dim r = 0; r < kBlock; ++r) {
        for (Dim c = 0; c < kBlock; ++c) {
          block[r * kBlock + c] = F16ToFloat(q[(row + r) * columns + strip * kBlock + c]);
        }
        Hadamard128(&block[r * kBlock], 1);
      }
      for (Dim c = 0; c < kBlock; ++c) Hadamard128(&block[c], kBlock);
      for (Dim r = 0; r < std::min(kBlock, plan.in_features - row); ++r) {
        for (Dim c = 0; c < std::min(kBlock, plan.out_features - strip * kBlock); ++c) {
          const double value =
              F16ToFloat(suh[row + r]) * block[r * kBlock + c] * double{F16ToFloat(svh[strip * kBlock + c])} / 128;
          dense[(strip * kBlock + c) * plan.in_features + row + r] = static_cast<float>(value);
        }
      }
    }
  });
}

// f(begin, end) for all strips of a matrix, in pieces and in any order.
template <typename F>
void ForEachStrips(const MatrixPlan& plan, F f) {
  const Dim count = plan.out_padded / kBlock;
  ParallelFor((count + kStripsPerTask - 1) / kStripsPerTask,
              [&](Dim task) { f(task * kStripsPerTask, std::min(count, (task + 1) * kStripsPerTask)); });
}

}  // namespace

void FillStrips(const TensorSource& source, const MatrixPlan& plan, WeightKind plain, std::byte* strips) {
  if (plan.quantized() && source.WriteStrips(*plan.data, 0, 0, strips)) {
    ForEachStrips(plan, [&](Dim begin, Dim end) { source.WriteStrips(*plan.data, begin, end, strips); });
    return;
  }
  AlignedBuffer raw(plan.data->bytes);
  source.Read(*plan.data, raw.data());
  if (!plan.quantized()) {
    CheckFinite(source, *plan.data, raw.data());
    const bool convert = plain != plan.kind;
    std::vector<float> values;
    if (convert) {
      HEARTH_CHECK(plain == WeightKind::kF32, plan.key);
      values.resize(static_cast<size_t>(plan.in_features * plan.out_features));
      ToFloats(raw.data(), plan.data->dtype, values.size(), values.data());
    }
    const void* from = convert ? static_cast<const void*>(values.data()) : raw.data();
    kernels::PlainRepackStrips(from, plain, plan.in_features, plan.out_features, strips);
    return;
  }
  ForEachStrips(plan, [&](Dim begin, Dim end) {
    kernels::Exl3RepackStrips(raw.data(), plan.in_padded, plan.out_padded, plan.bits, begin, end, strips);
  });
}

void FillScale(const TensorSource& source, const MatrixPlan& plan, bool input_side, uint16_t* scale) {
  const TensorInfo& tensor = input_side ? *plan.in_scale : *plan.out_scale;
  const Dim channels = input_side ? plan.in_padded : plan.out_padded;
  if (!(input_side ? plan.in_signs : plan.out_signs)) {
    source.Read(tensor, scale);
    CheckFinite(source, tensor, reinterpret_cast<const std::byte*>(scale));
    return;
  }
  std::vector<uint16_t> fields(static_cast<size_t>(channels / 16));
  source.Read(tensor, fields.data());
  for (Dim i = 0; i < channels; ++i) scale[i] = (fields[i / 16] >> (i % 16)) & 1 ? 0xBC00 : 0x3C00;  // -1, +1
}

void FillBias(const TensorSource& source, const MatrixPlan& plan, float* bias) {
  const size_t stored = plan.bias->bytes / static_cast<size_t>(DTypeBytes(plan.bias->dtype));
  std::vector<float> values(stored);
  FillFloats(source, *plan.bias, values.data());
  for (Dim i = 0; i < plan.out_features; ++i) {
    bias[i] = plan.quantized() ? F16ToFloat(FloatToF16(values[i])) : values[i];
  }
}

void FillRaw(const TensorSource& source, const TensorInfo& tensor, std::byte* raw) {
  source.Read(tensor, raw);
  CheckFinite(source, tensor, raw);
}

void FillFloats(const TensorSource& source, const TensorInfo& tensor, float* values) {
  AlignedBuffer raw(tensor.bytes);
  FillRaw(source, tensor, raw.data());
  ToFloats(raw.data(), tensor.dtype, tensor.bytes / static_cast<uint64_t>(DTypeBytes(tensor.dtype)), values);
}

void FillDense(const TensorSource& source, const MatrixPlan& plan, float* dense) {
  if (plan.quantized()) {
    DenseExl3(source, plan, dense);
  } else {
    FillFloats(source, *plan.data, dense);
  }
}

}  // namespace hearth
