#include "gpu_worker/loader/matrix_plan.h"

#include <cstring>

namespace hearth {
namespace {

using kernels::Dim;

constexpr uint32_t kMul1Marker = 0x83DCD12D;
constexpr uint32_t kMcgMarker = 0xCBAC1FED;

Dim RoundUp128(Dim value) { return (value + 127) / 128 * 128; }

std::vector<int64_t> WithoutOnes(const std::vector<int64_t>& shape) {
  std::vector<int64_t> rest;
  for (int64_t size : shape) {
    if (size != 1) rest.push_back(size);
  }
  return rest;
}

bool IsReal(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16; }

WeightKind KindOf(DType dtype) {
  if (dtype == DType::kF16) return WeightKind::kF16;
  return dtype == DType::kBf16 ? WeightKind::kBf16 : WeightKind::kF32;
}

}  // namespace

MatrixView MatrixPlan::Geometry(WeightKind plain) const {
  MatrixView view;
  view.kind = quantized() ? kind : plain;
  view.codebook = codebook;
  view.bits = bits;
  view.in_features = in_features;
  view.out_features = out_features;
  view.in_padded = in_padded;
  view.out_padded = out_padded;
  return view;
}

bool MatrixPlanner::Has(const std::string& key) const {
  return source_.Find(key + ".trellis") != nullptr || source_.Find(key + ".weight") != nullptr;
}

const TensorInfo* MatrixPlanner::Find(const std::string& name) {
  const TensorInfo* tensor = source_.Find(name);
  if (tensor != nullptr) used_.insert(name);
  return tensor;
}

const TensorInfo& MatrixPlanner::Require(const std::string& name, const std::string& instead) {
  if (const TensorInfo* tensor = Find(name)) return *tensor;
  throw StartupError(source_.Place() + ": tensor " + name + ": is missing" +
                     (instead.empty() ? "" : ", and there is no " + instead + " either") + kFetchAgain);
}

const TensorInfo* MatrixPlanner::Vector(const std::string& name, const std::vector<int64_t>& shape) {
  const TensorInfo& tensor = Require(name);
  if (!IsReal(tensor.dtype)) {
    RefuseTensor(source_, tensor, "dtype is ", DTypeName(tensor.dtype), ", expected F32, F16 or BF16");
  }
  if (WithoutOnes(tensor.shape) != WithoutOnes(shape)) {
    RefuseTensor(source_, tensor, "shape is ", ShowShape(tensor.shape), ", expected ", ShowShape(shape));
  }
  return &tensor;
}

MatrixPlan MatrixPlanner::Plain(const std::string& name, Dim in, Dim out) {
  const TensorInfo& tensor = Require(name);
  if (tensor.dtype == DType::kF8E4M3 || tensor.dtype == DType::kF8E5M2) {
    RefuseTensor(source_, tensor, "dtype is ", DTypeName(tensor.dtype),
                 ": scaled FP8 weights are not implemented, use an EXL3 or a 16-bit checkpoint");
  }
  if (in != out && in != 1 && out != 1 && tensor.shape == std::vector<int64_t>{in, out}) {
    RefuseTensor(source_, tensor, "shape is ", ShowShape(tensor.shape), ", expected ", ShowShape({out, in}),
                 ": it is transposed");
  }
  MatrixPlan plan;
  plan.key = name;
  plan.data = Vector(name, {out, in});
  plan.kind = KindOf(tensor.dtype);
  plan.in_features = plan.in_padded = in;
  plan.out_features = out;
  plan.out_padded = RoundUp128(out);
  return plan;
}

MatrixPlan MatrixPlanner::Matrix(const std::string& key, Dim in, Dim out) {
  if (source_.Find(key + ".trellis") == nullptr) {
    if (source_.Find(key + ".weight") == nullptr) Require(key + ".trellis", key + ".weight");
    MatrixPlan plan = Plain(key + ".weight", in, out);
    plan.key = key;
    PlanBias(plan);
    return plan;
  }
  MatrixPlan plan;
  plan.key = key;
  plan.kind = WeightKind::kExl3;
  plan.in_features = in;
  plan.out_features = out;
  PlanExl3(plan);
  PlanBias(plan);
  return plan;
}

MatrixPlan MatrixPlanner::MatrixOrBare(const std::string& key, Dim in, Dim out) {
  if (!Has(key)) return Plain(key, in, out);
  return Matrix(key, in, out);
}

void MatrixPlanner::PlanExl3(MatrixPlan& plan) {
  const TensorInfo& trellis = Require(plan.key + ".trellis");
  plan.data = &trellis;
  if (trellis.dtype != DType::kI16) {
    RefuseTensor(source_, trellis, "dtype is ", DTypeName(trellis.dtype), ", expected I16");
  }
  const auto& shape = trellis.shape;
  if (shape.size() == 3 && shape[2] % 16 == 8 && shape[2] < 128) {
    RefuseTensor(source_, trellis, "shape is ", ShowShape(shape), ": half-integer rates are not implemented");
  }
  if (shape.size() != 3 || shape[2] % 16 != 0 || shape[2] < 16 || shape[2] > 128) {
    RefuseTensor(source_, trellis, "shape is ", ShowShape(shape), ", expected [in/16, out/16, 16 K] with K of 1 to 8");
  }
  plan.bits = static_cast<uint32_t>(shape[2] / 16);
  plan.in_padded = RoundUp128(plan.in_features);
  plan.out_padded = RoundUp128(plan.out_features);
  const int64_t in_tiles = plan.in_padded / 16, out_tiles = plan.out_padded / 16;
  if (shape[0] != in_tiles || shape[1] != out_tiles) {
    const bool swapped = shape[0] == out_tiles && shape[1] == in_tiles;
    RefuseTensor(source_, trellis, "shape is ", ShowShape(shape), ", expected ",
                 ShowShape({in_tiles, out_tiles, shape[2]}), swapped ? ": it is transposed" : "");
  }
  if (const TensorInfo* scale = source_.Find(plan.key + ".scale")) {
    RefuseTensor(source_, *scale, "legacy EXL3 scale tensors are not implemented");
  }
  PlanScale(plan, ".suh", ".su", plan.in_padded, &plan.in_scale, &plan.in_signs);
  PlanScale(plan, ".svh", ".sv", plan.out_padded, &plan.out_scale, &plan.out_signs);
  plan.codebook = ReadCodebook(plan);
}

void MatrixPlanner::PlanScale(const MatrixPlan& plan, const char* name, const char* legacy, Dim channels,
                              const TensorInfo** tensor, bool* signs) {
  *tensor = Find(plan.key + name);
  *signs = *tensor == nullptr;
  if (*signs) *tensor = &Require(plan.key + legacy, plan.key + name);
  const DType dtype = *signs ? DType::kI16 : DType::kF16;
  const std::vector<int64_t> shape = {*signs ? channels / 16 : channels};
  if ((*tensor)->dtype != dtype || (*tensor)->shape != shape) {
    RefuseTensor(source_, **tensor, "is ", DTypeName((*tensor)->dtype), " ", ShowShape((*tensor)->shape), ", expected ",
                 DTypeName(dtype), " ", ShowShape(shape));
  }
  if (!*signs) Find(plan.key + legacy);  // a legacy twin is known, and not needed
}

Codebook MatrixPlanner::ReadCodebook(const MatrixPlan& plan) {
  const TensorInfo* mul1 = Find(plan.key + ".mul1");
  const TensorInfo* mcg = Find(plan.key + ".mcg");
  if (mul1 != nullptr && mcg != nullptr) {
    RefuseTensor(source_, *mcg, "the module also has ", mul1->name, ", expected one codebook marker at most");
  }
  const auto declared = source_.DeclaredCodebook(plan.key);
  if (mul1 == nullptr && mcg == nullptr) {
    if (!declared) return Codebook::k3inst;
    RefuseTensor(source_, *plan.data, "the marker ", plan.key, *declared == Codebook::kMul1 ? ".mul1" : ".mcg",
                 " is missing, but quantization_config.json lists it");
  }
  const TensorInfo& marker = mul1 != nullptr ? *mul1 : *mcg;
  const uint32_t wanted = mul1 != nullptr ? kMul1Marker : kMcgMarker;
  if (DTypeBytes(marker.dtype) != 4 || marker.bytes != 4) {
    RefuseTensor(source_, marker, "is ", DTypeName(marker.dtype), " ", ShowShape(marker.shape), ", expected I32 []");
  }
  uint32_t value = 0;
  source_.Read(marker, &value);
  if (value != wanted) RefuseTensor(source_, marker, "value is ", value, ", expected ", wanted);
  const Codebook codebook = mul1 != nullptr ? Codebook::kMul1 : Codebook::kMcg;
  if (declared && *declared != codebook) {
    RefuseTensor(source_, marker, "quantization_config.json lists the other codebook for this module");
  }
  return codebook;
}

void MatrixPlanner::PlanBias(MatrixPlan& plan) {
  const std::string name = plan.key + ".bias";
  if (source_.Find(name) == nullptr) return;
  // Quantized modules store the bias of the padded outputs; the surplus is dropped with them.
  const TensorInfo& tensor = *source_.Find(name);
  const bool padded = plan.quantized() && tensor.shape == std::vector<int64_t>{plan.out_padded};
  plan.bias = Vector(name, {padded ? plan.out_padded : plan.out_features});
}

std::vector<std::string> MatrixPlanner::Unused() const {
  std::vector<std::string> unused;
  for (std::string& name : source_.Names()) {
    if (!used_.contains(name)) unused.push_back(std::move(name));
  }
  return unused;
}

}  // namespace hearth
