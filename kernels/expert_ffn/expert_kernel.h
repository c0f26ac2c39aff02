#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/expert_ffn/expert_ffn.h"

namespace hearth::kernels {

// kFp32 gives the bits of Backend::expert_ffn. kInt16 has activations of 15 bits, sign included, one scale per 128, for
// matrices of the codebook MUL1, and fp32 for the others; about 4e-4 of an expert's output away from fp64. All
// implementations of one arithmetic give the same bits.
enum class ExpertArithmetic { kFp32, kInt16 };
enum class ExpertIsa { kRef, kAvx2, kAvx512 };

// One routed expert in independent units for callers with their own threads, see ExpertPhase. A phase may have no
// units. `scratch` has ScratchBytes, 64-byte aligned.
class ExpertKernel {
 public:
  virtual ~ExpertKernel() = default;
  virtual const char* name() const = 0;
  // Which of several forms of the same bits it is; empty where there is one.
  virtual const char* variant() const { return ""; }
  virtual Dim ScratchBytes(const MlpView& expert, Dim picks) const = 0;
  virtual Dim Units(const MlpView& expert, Dim picks, ExpertPhase phase) const = 0;
  virtual void Run(const ExpertFfnArgs& args, ExpertPhase phase, Dim unit, void* scratch) const = 0;
};

// The best instruction set of this host, and whether it has a given one.
ExpertIsa HostExpertIsa();
bool HostHas(ExpertIsa isa);
const char* Name(ExpertIsa isa);

// The forms of the int16 kernel that an instruction set has; they give the same bits.
std::vector<std::string> Int16Variants(ExpertIsa isa);

// The kernel of an arithmetic for an instruction set, or for a lower one where that has none of its own: fp32 has no
// AVX-512 version. HostHas(isa) holds. `variant`: one of Int16Variants; empty: the one that is quickest here.
const ExpertKernel& GetExpertKernel(ExpertIsa isa, ExpertArithmetic arithmetic, std::string_view variant = {});

}  // namespace hearth::kernels
