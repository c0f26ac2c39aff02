#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "common/matrix/matrix_view.h"
#include "gpu_worker/loader/tensor_source.h"
#include "kernels/real.h"

namespace hearth {

// One linear layer as the checkpoint has it, found and checked, nothing read yet except markers.
struct MatrixPlan {
  std::string key;                      // module name: the tensors are KEY.trellis, KEY.suh .. or KEY.weight
  WeightKind kind = WeightKind::kNone;  // the checkpoint's own type
  Codebook codebook = Codebook::k3inst;
  uint32_t bits = 0;
  kernels::Dim in_features = 0, out_features = 0, in_padded = 0, out_padded = 0;
  const TensorInfo* data = nullptr;       // trellis [in/16, out/16, 16 bits], or weight [out, in]
  const TensorInfo* in_scale = nullptr;   // suh, or su when `in_signs`
  const TensorInfo* out_scale = nullptr;  // svh, or sv when `out_signs`
  bool in_signs = false, out_signs = false;
  const TensorInfo* bias = nullptr;

  bool quantized() const { return kind == WeightKind::kExl3; }
  // The matrix without pointers, with a plain one stored as `plain`.
  MatrixView Geometry(WeightKind plain) const;
};

// Finds tensors by name, checks types and shapes, and remembers what was asked for. Every failure throws StartupError
// naming file, tensor, what was found and what was expected. Not thread-safe; the plan is made before the reading.
class MatrixPlanner {
 public:
  explicit MatrixPlanner(const TensorSource& source) : source_(source) {}

  bool Has(const std::string& key) const;  // KEY.trellis or KEY.weight
  // y = x W with W [in, out]. Quantized ones may be padded up to the next multiple of 128.
  MatrixPlan Matrix(const std::string& key, kernels::Dim in, kernels::Dim out);
  // An unquantized tensor [out, in] whose name is exactly `name`, as a matrix.
  MatrixPlan Plain(const std::string& name, kernels::Dim in, kernels::Dim out);
  // As Matrix, but the unquantized tensor is called KEY or KEY.weight.
  MatrixPlan MatrixOrBare(const std::string& key, kernels::Dim in, kernels::Dim out);
  // F32, F16 or BF16 values of this shape; dimensions of size 1 do not matter.
  const TensorInfo* Vector(const std::string& name, const std::vector<int64_t>& shape);

  // Names of the source that nobody asked for, sorted.
  std::vector<std::string> Unused() const;
  const TensorSource& source() const { return source_; }

 private:
  const TensorInfo* Find(const std::string& name);  // marks as used
  const TensorInfo& Require(const std::string& name, const std::string& instead = "");
  void PlanExl3(MatrixPlan& plan);
  void PlanScale(const MatrixPlan& plan, const char* name, const char* legacy, kernels::Dim channels,
                 const TensorInfo** tensor, bool* signs);
  Codebook ReadCodebook(const MatrixPlan& plan);
  void PlanBias(MatrixPlan& plan);

  const TensorSource& source_;
  std::unordered_set<std::string> used_;
};

}  // namespace hearth
