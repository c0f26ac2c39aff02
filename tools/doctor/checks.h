#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/host_facts.h"

namespace hearth::doctor {

// What a model asks of a machine. Bytes.
struct ModelNeeds {
  std::string model_dir;
  bool present = false;         // the checkpoint is there and reads well
  std::string problem;          // it is there and cannot be served
  uint64_t home_bytes = 0;      // expert home; 0 when a home of this model lies there already
  uint64_t host_bytes = 0;      // beside the home, while it loads: all other weights, buffers
  uint64_t device_bytes = 0;    // least memory of a GPU
  uint64_t download_bytes = 0;  // when it is not present: what is still to come
};

struct CheckOptions {
  std::string home_dir;
  std::string device = "auto";  // auto, host, cuda
  bool fast = true;             // the CPU tier is wanted
  uint64_t assumed_ram = 0;     // counts instead of what machine and cgroup say; 0: nothing assumed
  std::string least_driver;     // "580.65"
  std::string gpu_code;         // architectures that this build has kernels for (gpu_architectures.h); "" without CUDA
  bool download = false;        // a checkpoint that is missing is fetched at the start
};

enum class Verdict { kOk, kWarning, kRefused };

struct Check {
  std::string name;
  Verdict verdict = Verdict::kOk;
  std::string text;  // one line; of a refusal: what is, what is needed, what would help
};

// Whether the worker would compute on the GPU: with `auto` it takes the host instead of one that it cannot use.
bool OnGpu(const HostFacts& facts, const CheckOptions& options);

// Pure: every check in a fixed order.
std::vector<Check> CheckHost(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options);

// "ok      ram       ..", one line.
std::string CheckLine(const Check& check);

bool AnyRefused(const std::vector<Check>& checks);

}  // namespace hearth::doctor
