#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::testing {

struct MatrixSpec {
  WeightKind kind = WeightKind::kExl3;
  kernels::Dim in = 128, out = 128;
  uint32_t bits = 3;
  Codebook codebook = Codebook::kMul1;
  bool bias = false;
};

// One matrix with all its memory, in strip layout. Random ones have outputs of about unit size for inputs of unit size.
class TestMatrix {
 public:
  static TestMatrix Random(const MatrixSpec& spec, std::mt19937& rng);
  // An EXL3 matrix from a checkpoint's tensors (file order).
  static TestMatrix Exl3(const MatrixSpec& spec, const void* trellis, std::vector<uint16_t> suh,
                         std::vector<uint16_t> svh);

  const MatrixView& view() const { return view_; }
  // W [in, out] of y = x W in fp64 from the definition: diag(suh) H Q H diag(svh), or the plain values.
  std::vector<double> Dense() const;

 private:
  void Allocate();

  MatrixView view_;
  std::shared_ptr<std::byte> data_;  // 64-byte aligned
  std::vector<uint16_t> suh_, svh_;
  std::vector<float> bias_;
};

// y = x W + bias in fp64, x [in].
std::vector<double> FormulaLinear(const TestMatrix& matrix, const std::vector<double>& dense,
                                  const std::vector<double>& x);

}  // namespace hearth::testing
