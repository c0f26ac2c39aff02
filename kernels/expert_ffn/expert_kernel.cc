#include "kernels/expert_ffn/expert_kernel.h"

#include "kernels/avx2_ops.h"
#include "kernels/expert_ffn/int16_expert.h"
#include "kernels/linear/strip_avx2.h"
#include "kernels/linear/strip_ref.h"
#include "kernels/linear/swiglu_avx2.h"
#include "kernels/math/exp.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels {
namespace {

// The shared fp32 kernel of a backend.
class Fp32Expert final : public ExpertKernel {
 public:
  using Unit = void (*)(const ExpertFfnArgs&, ExpertPhase, Dim, void*);
  Fp32Expert(const char* name, Unit unit) : name_(name), unit_(unit) {}

  const char* name() const override { return name_; }
  Dim ScratchBytes(const MlpView& expert, Dim picks) const override { return ExpertScratchBytes(expert, picks); }
  Dim Units(const MlpView& expert, Dim picks, ExpertPhase phase) const override {
    return ExpertUnits(expert, picks, phase);
  }
  void Run(const ExpertFfnArgs& args, ExpertPhase phase, Dim unit, void* scratch) const override {
    unit_(args, phase, unit, scratch);
  }

 private:
  const char* const name_;
  const Unit unit_;
};

void SwigluRowRef(const float* gate, const float* up, Dim n, float limit, float* out) {
  for (Dim i = 0; i < n; ++i) out[i] = SwigluReal(gate[i], up[i], limit);
}

constexpr Int16ExpertOps kRefOps = {"ref-int16",      ref::RotateInput,  QuantizeBlockRef, {"", Int16SumsRef},
                                    ref::FinishStrip, ref::StripProduct, SwigluRowRef};

Int16ExpertOps Avx2Ops(const char* name, std::span<const Int16SumsVariant> sums) {
  return {name,
          avx2::RotateInput,
          avx2::QuantizeBlock,
          QuickestInt16Sums(sums),
          avx2::FinishStrip,
          avx2::StripProduct,
          avx2::SwigluRow};
}

}  // namespace

bool HostHas(ExpertIsa isa) {
  if (isa == ExpertIsa::kAvx512) return HostHasAvx512();
  return isa == ExpertIsa::kRef || HostHasAvx2();
}

ExpertIsa HostExpertIsa() {
  if (HostHasAvx512()) return ExpertIsa::kAvx512;
  return HostHasAvx2() ? ExpertIsa::kAvx2 : ExpertIsa::kRef;
}

const char* Name(ExpertIsa isa) {
  if (isa == ExpertIsa::kAvx512) return "avx512";
  return isa == ExpertIsa::kAvx2 ? "avx2" : "ref";
}

const ExpertKernel& GetExpertKernel(ExpertIsa isa, ExpertArithmetic arithmetic) {
  if (arithmetic == ExpertArithmetic::kFp32) {
    static const Fp32Expert ref("ref-fp32", ref::ExpertUnit), avx2("avx2-fp32", avx2::ExpertUnit);
    return isa == ExpertIsa::kRef ? ref : avx2;
  }
  // Each when it is first asked for: choosing its variant runs its instructions.
  if (isa == ExpertIsa::kAvx512) {
    static const Int16Expert avx512(Avx2Ops("avx512-int16", kAvx512Int16Sums));
    return avx512;
  }
  if (isa == ExpertIsa::kAvx2) {
    static const Int16Expert avx2(Avx2Ops("avx2-int16", kAvx2Int16Sums));
    return avx2;
  }
  static const Int16Expert ref(kRefOps);
  return ref;
}

}  // namespace hearth::kernels
