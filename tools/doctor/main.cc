#include <unistd.h>

#include <cstdio>

#include "common/base/byte_size.h"
#include "common/base/process.h"
#include "common/config/load_config.h"
#include "tools/doctor/config.h"
#include "tools/doctor/model_needs.h"

namespace hearth::doctor {
namespace {

#ifdef HEARTH_CUDA_CODE
constexpr const char* kGpuCode = HEARTH_CUDA_CODE;
#else
constexpr const char* kGpuCode = "";
#endif

// As the worker chooses (gpu_worker/settings.cc).
std::string HomeDir(const DoctorConfig& config) {
  if (!config.home_dir.empty()) return config.home_dir;
  return ::access("/run/hearth", W_OK | X_OK) == 0 ? "/run/hearth" : "/dev/shm";
}

// Prints one line a check; false when one refuses.
bool Examine(const DoctorConfig& config) {
  FactQuery query{.model_dir = config.model, .home_dir = HomeDir(config), .host = config.host};
  if (config.port != 0) query.port = config.port;
  query.nvidia_smi = config.nvidia_smi;
  const HostFacts facts = ReadHostFacts(query, config.root == "/" ? "" : config.root);
  CheckOptions options{.home_dir = query.home_dir, .device = config.device, .fast = config.mode == "fast"};
  options.assumed_ram = config.assume_ram_gb ? GibToBytes(*config.assume_ram_gb) : 0;
  options.least_driver = config.least_driver;
  options.gpu_code = kGpuCode;
  options.download = config.download;
  const ModelNeeds needs = ReadModelNeeds({.model = config.model,
                                           .home_dir = query.home_dir,
                                           .tokenizer_dir = config.tokenizer_dir,
                                           .on_gpu = OnGpu(facts, options)});
  const auto checks = CheckHost(facts, needs, options);
  for (const Check& check : checks) std::printf("%s\n", CheckLine(check).c_str());
  std::fflush(stdout);
  return !AnyRefused(checks);
}

}  // namespace
}  // namespace hearth::doctor

int main(int argc, char** argv) {
  bool good = true;
  const int code = hearth::RunProcess("hearth-doctor", [&](hearth::StopSignal&) {
    const auto config = hearth::LoadConfig<hearth::doctor::DoctorConfig>(argc, argv);
    good = hearth::doctor::Examine(config) || config.preflight == "warn";
  });
  return code != 0 ? code : good ? 0 : 2;
}
