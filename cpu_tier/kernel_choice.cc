#include "cpu_tier/kernel_choice.h"

#include "common/base/startup_error.h"
#include "common/base/status.h"

namespace hearth {
namespace {

using kernels::ExpertArithmetic;
using kernels::ExpertIsa;

}  // namespace

KernelChoice ChooseKernels(const std::string& isa, const std::string& kernel) {
  KernelChoice choice;
  if (kernel == "fp32") choice.forced = ExpertArithmetic::kFp32;
  if (kernel == "int16") choice.forced = ExpertArithmetic::kInt16;
  if (isa == "ref") return choice;
  if (!kernels::HostHas(ExpertIsa::kAvx2)) {
    throw StartupError("this CPU lacks AVX2, FMA or F16C, which cpu_tier needs; run the worker without it");
  }
  if (isa == "avx512" && !kernels::HostHas(ExpertIsa::kAvx512)) {
    throw StartupError(
        "--isa is avx512, but this CPU lacks AVX-512 BW, DQ, VL, VBMI, VBMI2 or VNNI; use --isa avx2 or auto");
  }
  choice.isa = isa == "avx2" ? ExpertIsa::kAvx2 : kernels::HostExpertIsa();
  return choice;
}

}  // namespace hearth
