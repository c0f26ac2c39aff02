#include "tools/doctor/checks.h"

#include <cstdio>

#include "common/base/byte_size.h"
#include "common/base/status.h"
#include "gpu_worker/loader/home_space.h"
#include "tools/doctor/gpu_architectures.h"
#include "tools/doctor/gpu_report.h"

namespace hearth::doctor {
namespace {

// A home of this size and more on a disk would make every token wait for it.
constexpr uint64_t kLargeHome = kGiB;
constexpr uint64_t kDiskSpare = kGiB;

Check Ok(const char* name, std::string text) { return {name, Verdict::kOk, std::move(text)}; }
Check Warn(const char* name, std::string text) { return {name, Verdict::kWarning, std::move(text)}; }
Check Refuse(const char* name, std::string text) { return {name, Verdict::kRefused, std::move(text)}; }

Check CheckModel(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  if (!needs.problem.empty()) return Refuse("model", needs.problem);
  if (needs.present) {
    const std::string home = needs.home_bytes == 0 ? "its expert home is in memory already"
                                                   : StrCat("expert home ", FormatBytes(needs.home_bytes));
    return Ok("model", StrCat(needs.model_dir, ": checkpoint reads well, ", home));
  }
  if (!options.download) {
    return Refuse("model",
                  StrCat(needs.model_dir, facts.model.exists ? " has no whole checkpoint" : " does not exist",
                         "; name the folder of one with --model, or say --download where it would be fetched first"));
  }
  if (facts.model.exists && !facts.model.empty && !facts.model.writable) {
    return Refuse("model",
                  StrCat(needs.model_dir, " has no config.json and cannot be written; mount a checkpoint, or a ",
                         "folder that this user may write"));
  }
  return Ok("model",
            StrCat(needs.model_dir, ": no checkpoint yet, ", FormatBytes(needs.download_bytes), " to download"));
}

// Why this build cannot compute on the card; "" when it can.
std::string CodeProblem(const GpuFacts& gpu, const CheckOptions& options) {
  if (options.gpu_code.empty()) return "this build has no CUDA; build with HEARTH_CUDA=ON";
  if (!gpu.compute || RunsOn(options.gpu_code, *gpu.compute)) return "";
  char compute[16];
  std::snprintf(compute, sizeof compute, "%.1f", *gpu.compute);
  return StrCat("compute capability ", compute, ", and this build has code for ",
                DescribeArchitectures(options.gpu_code), "; use another card, or build for this one");
}

bool DriverTooOld(const GpuFacts& gpu, const CheckOptions& options) {
  return VersionLess(gpu.driver, options.least_driver);
}

// What the worker does about a GPU that it cannot use: with --device auto it serves without, slowly.
Check Unusable(const char* name, const std::string& text, const CheckOptions& options) {
  if (options.device == "auto") return Warn(name, StrCat(text, "; the host backend serves instead, slowly"));
  return Refuse(name, StrCat(text, "; or use --device host"));
}

// The first GPU counts: one is served on.
Check CheckGpu(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  if (options.device == "host") return Ok("gpu", "not wanted (--device host)");
  if (!facts.gpus) {
    if (options.device == "cuda") {
      return Refuse("gpu", StrCat("none is visible: ", facts.gpu_problem,
                                  "; install the driver, and start a container with --gpus '\"device=0\"'"));
    }
    if (needs.home_bytes >= kLargeHome) {
      return Warn("gpu", "none is visible: this model on the host backend would be very slow");
    }
    return Ok("gpu", "none, the host backend serves");
  }
  const GpuFacts& gpu = facts.gpus->front();
  const std::string name = StrCat(gpu.name, ", ", FormatBytes(gpu.memory_bytes));
  if (const std::string problem = CodeProblem(gpu, options); !problem.empty()) {
    return Unusable("gpu", StrCat(name, ": ", problem), options);
  }
  if (OnGpu(facts, options) && gpu.memory_bytes < needs.device_bytes) {
    return Refuse("gpu", StrCat(name, ": at least ", FormatBytes(needs.device_bytes),
                                " are needed; use a larger card, or --device host"));
  }
  if (facts.gpus->size() > 1) {
    return Warn("gpu", StrCat(name, "; ", facts.gpus->size(), " GPUs are visible, one is used: pass that one alone"));
  }
  return Ok("gpu", name);
}

Check CheckDriver(const HostFacts& facts, const CheckOptions& options) {
  if (options.device == "host") return Ok("driver", "not wanted (--device host)");
  // A container sees the host's kernel module even when it was given no GPU.
  if (!facts.gpus && options.device == "auto") return Ok("driver", "none is needed without a GPU");
  if (facts.gpus && options.device == "auto" && !CodeProblem(facts.gpus->front(), options).empty()) {
    return Ok("driver", "none is needed: the GPU is not used");
  }
  const std::string version = facts.gpus ? facts.gpus->front().driver : facts.driver_module.value_or("");
  if (version.empty()) {
    return Refuse("driver", StrCat("no NVIDIA driver is loaded; install ", options.least_driver, " or later"));
  }
  if (VersionLess(version, options.least_driver)) {
    return Unusable("driver",
                    StrCat("version ", version, ", needed is ", options.least_driver,
                           " or later for the CUDA toolkit of this build; update the driver"),
                    options);
  }
  return Ok("driver", StrCat("version ", version));
}

// `are`: what the bytes are, "available".
Check CheckMemory(const char* name, uint64_t bytes, const char* are, const ModelNeeds& needs, const char* remedy) {
  const uint64_t need = needs.home_bytes + needs.host_bytes;
  if (bytes < need) {
    return Refuse(name, StrCat("needs ", FormatBytes(need), " (expert home ", FormatBytes(needs.home_bytes), ", other ",
                               FormatBytes(needs.host_bytes), "), ", FormatBytes(bytes), " are ", are, "; ", remedy));
  }
  return Ok(name, StrCat(FormatBytes(bytes), " ", are, ", needed are ", FormatBytes(need)));
}

Check CheckRam(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  if (options.assumed_ram > 0) {
    return CheckMemory("ram", options.assumed_ram, "assumed (--assume-ram-gb)", needs,
                       "raise --assume-ram-gb where there is more, or leave it out");
  }
  if (!facts.ram_available) return Ok("ram", "unknown (/proc/meminfo)");
  return CheckMemory("ram", *facts.ram_available, "available", needs,
                     "add memory, stop what uses it, or say --assume-ram-gb N where a VM grows its memory");
}

Check CheckCgroup(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  if (!facts.cgroup_available) return Ok("cgroup", "no limit");
  if (options.assumed_ram > 0) return Ok("cgroup", "its limit does not count (--assume-ram-gb)");
  return CheckMemory("cgroup", *facts.cgroup_available, "available", needs,
                     "raise the limit: --memory, mem_limit, MemoryMax or the pod's limits.memory");
}

Check CheckCpu(const HostFacts& facts, const CheckOptions& options) {
  if (!facts.cpu_flags) return Warn("cpu", "the CPU's features cannot be read (/proc/cpuinfo)");
  std::string missing;
  for (const char* flag : {"avx2", "fma", "f16c"}) {
    if (!facts.cpu_flags->contains(flag)) missing += StrCat(missing.empty() ? "" : ", ", flag);
  }
  if (missing.empty()) return Ok("cpu", "AVX2, FMA and F16C");
  if (!options.fast && options.device == "cuda") {
    return Warn("cpu", StrCat("lacks ", missing, ": no CPU tier, which exact mode does not use anyway"));
  }
  return Refuse("cpu", StrCat("lacks ", missing, ", which the CPU kernels need; use another machine, or --device cuda ",
                              "with --mode exact and no CPU tier"));
}

Check CheckDisk(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  if (needs.present || !options.download) return Ok("disk", "nothing to download");
  const uint64_t need = needs.download_bytes + kDiskSpare;
  if (facts.model.free_bytes < need) {
    return Refuse("disk",
                  StrCat(needs.model_dir, " has ", FormatBytes(facts.model.free_bytes), " free, the download needs ",
                         FormatBytes(need), "; mount a folder of a larger disk there"));
  }
  return Ok("disk", StrCat(FormatBytes(facts.model.free_bytes), " free, needed are ", FormatBytes(need)));
}

Check CheckHome(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  const std::string& dir = options.home_dir;
  if (!facts.home.exists) {
    return Refuse("home",
                  StrCat(dir, " does not exist; create a tmpfs there (scripts/install_home_mount.sh) or choose ",
                         "another with --home-dir"));
  }
  if (!facts.home.writable) {
    return Refuse("home",
                  StrCat(dir, " cannot be written by this user; chown it to the user of the server (990 in the ",
                         "images), or choose another with --home-dir"));
  }
  if (std::string problem = HomeSpaceProblem(dir, needs.home_bytes, facts.home.free_bytes); !problem.empty()) {
    return Refuse("home", StrCat(problem, "; in a container: -v /run/hearth:/run/hearth, or --shm-size ",
                                 needs.home_bytes / kGiB + 4, "g"));
  }
  if (!facts.home.in_memory) {
    const std::string text = StrCat(dir, " lies on a disk; ");
    if (needs.home_bytes >= kLargeHome) {
      return Refuse("home", StrCat(text, "mount a tmpfs there or choose one with --home-dir"));
    }
    return Warn("home", StrCat(text, "a tmpfs is quicker"));
  }
  return Ok("home",
            StrCat(dir, ": ", FormatBytes(facts.home.free_bytes), " free, needed are ", FormatBytes(needs.home_bytes)));
}

Check CheckMemlock(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  const uint64_t wish = needs.home_bytes + needs.host_bytes;
  if (!OnGpu(facts, options)) return Ok("memlock", "nothing is pinned");
  if (!facts.memlock_limit || *facts.memlock_limit >= wish) return Ok("memlock", "no limit that matters");
  return Warn("memlock", StrCat("locked memory is limited to ", FormatBytes(*facts.memlock_limit),
                                "; registering the home usually works all the same; if not: --ulimit memlock=-1, or ",
                                "LimitMEMLOCK=infinity"));
}

Check CheckPort(const HostFacts& facts) {
  if (facts.port_problem) return Refuse("port", *facts.port_problem);
  return Ok("port", "free");
}

}  // namespace

bool OnGpu(const HostFacts& facts, const CheckOptions& options) {
  if (options.device != "auto") return options.device == "cuda";
  if (!facts.gpus) return false;
  const GpuFacts& gpu = facts.gpus->front();
  return CodeProblem(gpu, options).empty() && !DriverTooOld(gpu, options);
}

std::vector<Check> CheckHost(const HostFacts& facts, const ModelNeeds& needs, const CheckOptions& options) {
  return {
      CheckModel(facts, needs, options),   CheckGpu(facts, needs, options),
      CheckDriver(facts, options),         CheckRam(facts, needs, options),
      CheckCgroup(facts, needs, options),  CheckCpu(facts, options),
      CheckDisk(facts, needs, options),    CheckHome(facts, needs, options),
      CheckMemlock(facts, needs, options), CheckPort(facts),
  };
}

std::string CheckLine(const Check& check) {
  const char* word = check.verdict == Verdict::kOk ? "ok" : check.verdict == Verdict::kWarning ? "warning" : "REFUSED";
  char head[32];
  std::snprintf(head, sizeof head, "%-8s %-8s ", word, check.name.c_str());
  return head + check.text;
}

bool AnyRefused(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    if (check.verdict == Verdict::kRefused) return true;
  }
  return false;
}

}  // namespace hearth::doctor
