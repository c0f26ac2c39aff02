#include "kernels/expert_ffn/expert_kernel.h"

#include <algorithm>
#include <deque>

#include "common/base/check.h"
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

// The int16 kernels of an instruction set, of which the quickest is found when they are first asked for.
class Int16Experts {
 public:
  Int16Experts(const char* name, std::span<const Int16SumsVariant> variants) {
    const Int16SumsVariant& quickest = QuickestInt16Sums(variants);
    for (const Int16SumsVariant& sums : variants) {
      experts_.emplace_back(Int16ExpertOps{name, avx2::RotateInput, avx2::QuantizeBlock, sums, avx2::FinishStrip,
                                           avx2::StripProduct, avx2::SwigluRow});
      if (&sums == &quickest) quickest_ = experts_.size() - 1;
    }
  }

  const ExpertKernel& Get(std::string_view variant) const {
    if (variant.empty()) return experts_[quickest_];
    const auto named = std::find_if(experts_.begin(), experts_.end(),
                                    [&](const Int16Expert& expert) { return expert.variant() == variant; });
    HEARTH_CHECK(named != experts_.end(), "no such variant");
    return *named;
  }

 private:
  std::deque<Int16Expert> experts_;
  size_t quickest_ = 0;
};

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

std::vector<std::string> Int16Variants(ExpertIsa isa) {
  std::vector<std::string> names;
  if (isa == ExpertIsa::kRef) return names;
  for (const Int16SumsVariant& sums : isa == ExpertIsa::kAvx512 ? kAvx512Int16Sums : kAvx2Int16Sums) {
    names.emplace_back(sums.name);
  }
  return names;
}

const ExpertKernel& GetExpertKernel(ExpertIsa isa, ExpertArithmetic arithmetic, std::string_view variant) {
  if (arithmetic == ExpertArithmetic::kFp32) {
    static const Fp32Expert ref("ref-fp32", ref::ExpertUnit), avx2("avx2-fp32", avx2::ExpertUnit);
    return isa == ExpertIsa::kRef ? ref : avx2;
  }
  // Each when it is first asked for: finding the quickest runs its instructions.
  if (isa == ExpertIsa::kAvx512) {
    static const Int16Experts avx512("avx512-int16", kAvx512Int16Sums);
    return avx512.Get(variant);
  }
  if (isa == ExpertIsa::kAvx2) {
    static const Int16Experts avx2("avx2-int16", kAvx2Int16Sums);
    return avx2.Get(variant);
  }
  static const Int16Expert ref(kRefOps);
  return ref;
}

}  // namespace hearth::kernels
