#include "cpu_tier/kernel_choice.h"

#include "common/base/startup_error.h"

namespace hearth {
namespace {

using kernels::ExpertArithmetic;
using kernels::ExpertIsa;

}  // namespace

Status KernelChoice::CheckFp32Bits() const {
  if (forced != ExpertArithmetic::kInt16) return Status::Ok();
  return FailedPrecondition(
      "cpu_tier runs with --kernel int16, whose results differ from those of a worker on the host, which --mode exact "
      "does not allow; start hearth-cpu-tier with --kernel auto or fp32, or the worker with --mode fast");
}

std::vector<std::string> KernelWords() {
  std::vector<std::string> words = {"auto", "fp32", "int16"};
  for (const ExpertIsa isa : {ExpertIsa::kAvx2, ExpertIsa::kAvx512}) {
    for (const std::string& variant : kernels::Int16Variants(isa)) words.push_back("int16:" + variant);
  }
  return words;
}

KernelChoice ChooseKernels(const std::string& isa, const std::string& kernel) {
  KernelChoice choice;
  if (kernel == "fp32") choice.forced = ExpertArithmetic::kFp32;
  if (kernel.rfind("int16", 0) == 0) choice.forced = ExpertArithmetic::kInt16;
  if (isa == "ref") {
    if (kernel.find(':') != std::string::npos) {
      throw StartupError("--kernel is " + kernel + ", but --isa ref has no variants; use --kernel int16");
    }
    return choice;
  }
  if (!kernels::HostHas(ExpertIsa::kAvx2)) {
    throw StartupError("this CPU lacks AVX2, FMA or F16C, which cpu_tier needs; run the worker without it");
  }
  if (isa == "avx512" && !kernels::HostHas(ExpertIsa::kAvx512)) {
    throw StartupError(
        "--isa is avx512, but this CPU lacks AVX-512 BW, DQ, VL, VBMI, VBMI2 or VNNI; use --isa avx2 or auto");
  }
  choice.isa = isa == "avx2" ? ExpertIsa::kAvx2 : kernels::HostExpertIsa();
  if (const size_t colon = kernel.find(':'); colon != std::string::npos) {
    choice.variant = kernel.substr(colon + 1);
    std::string known;
    for (const std::string& name : kernels::Int16Variants(choice.isa)) {
      if (name == choice.variant) return choice;
      known += (known.empty() ? "" : ", ") + name;
    }
    throw StartupError("--kernel is " + kernel + ", but the variants of " + kernels::Name(choice.isa) + " are " +
                       known + "; use one of them, or int16 for the quickest");
  }
  return choice;
}

}  // namespace hearth
