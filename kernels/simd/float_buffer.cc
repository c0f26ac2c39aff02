#include "kernels/simd/float_buffer.h"

#include <cstdlib>

#include "common/base/check.h"

namespace hearth::kernels {
namespace {
constexpr Dim kAlignment = 64;
}

FloatBuffer::FloatBuffer(Dim count) {
  const Dim bytes = count * static_cast<Dim>(sizeof(float));
  const Dim whole = (bytes + kAlignment) / kAlignment * kAlignment;  // never 0
  data_ = static_cast<float*>(std::aligned_alloc(kAlignment, static_cast<size_t>(whole)));
  HEARTH_CHECK(data_ != nullptr, "no memory for scratch");
}

FloatBuffer::~FloatBuffer() { std::free(data_); }

}  // namespace hearth::kernels
