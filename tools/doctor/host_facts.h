#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hearth::doctor {

// What a machine has, as far as the checks ask. Everything that could not be found out is absent.

struct GpuFacts {
  std::string name;
  uint64_t memory_bytes = 0;
  std::string driver;             // "580.65.06"
  std::optional<double> compute;  // 8.6
};

struct FolderFacts {
  bool exists = false;
  bool writable = false;
  bool in_memory = false;   // tmpfs or hugetlbfs
  uint64_t free_bytes = 0;  // of the nearest folder that exists
  bool empty = true;
};

struct HostFacts {
  std::optional<std::vector<GpuFacts>> gpus;  // absent: nvidia-smi is not there or failed
  std::string gpu_problem;                    // then: what it said
  std::optional<std::string> driver_module;   // version of the loaded kernel module
  std::optional<uint64_t> ram_available;      // of the machine
  std::optional<uint64_t>
      cgroup_available;  // the least that a cgroup (v1 or v2) of this process leaves; absent: no limit
  std::optional<std::set<std::string>> cpu_flags;
  std::optional<uint64_t> memlock_limit;  // absent: unlimited, or unknown
  FolderFacts model, home;
  std::optional<std::string> port_problem;  // why the port cannot be listened on
};

struct FactQuery {
  std::string model_dir, home_dir;
  std::string host;
  std::optional<int> port;  // absent: not asked
  std::string nvidia_smi = "nvidia-smi";
};

// Files of /proc and /sys are read below `root`, which is "/" outside tests; folders and the port are those of this
// machine. Runs nvidia-smi once, for at most 20 s.
HostFacts ReadHostFacts(const FactQuery& query, const std::string& root = "/");

}  // namespace hearth::doctor
