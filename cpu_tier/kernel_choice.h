#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "kernels/expert_ffn/expert_kernel.h"

namespace hearth {

// Which expert kernels the daemon uses; fixed when it starts.
struct KernelChoice {
  kernels::ExpertIsa isa = kernels::ExpertIsa::kRef;
  std::optional<kernels::ExpertArithmetic> forced;  // none: what the attached worker wants
  std::string variant;                              // of the int16 kernel; empty: the quickest here

  // A worker on the host computes experts in fp32 itself and must get the same bits; one on a GPU rounds differently
  // anyway and is better served by the faster int16. What is forced holds for both, unless CheckFp32Bits() forbids it.
  kernels::ExpertArithmetic For(bool int16_welcome) const {
    return forced.value_or(int16_welcome ? kernels::ExpertArithmetic::kInt16 : kernels::ExpertArithmetic::kFp32);
  }
  // For a worker that must get the bits of the fp32 kernel.
  Status CheckFp32Bits() const;
  const kernels::ExpertKernel& Kernel(kernels::ExpertArithmetic arithmetic) const {
    return kernels::GetExpertKernel(isa, arithmetic, variant);
  }
  // What may be asked of this daemon, each once.
  std::vector<kernels::ExpertArithmetic> Possible() const {
    if (forced) return {*forced};
    return {kernels::ExpertArithmetic::kFp32, kernels::ExpertArithmetic::kInt16};
  }
};

// What --kernel may be: an arithmetic, or int16 with the name of a variant of any instruction set.
std::vector<std::string> KernelWords();

// Values of --isa and --kernel. Throws StartupError for an instruction set that this CPU lacks, or a variant that the
// instruction set does not have.
KernelChoice ChooseKernels(const std::string& isa, const std::string& kernel);

}  // namespace hearth
