#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "gpu_worker/settings.h"

namespace hearth {

// Device memory in use, sampled five times a second by a thread of its own; nothing on the host device.
class VramSampler {
 public:
  explicit VramSampler(const ChosenKernels& kernels);
  ~VramSampler();
  void Pause() { paused_ = true; }  // while the benchmark itself takes device memory
  void Resume() { paused_ = false; }
  uint64_t most() const { return most_; }  // of the whole card
  uint64_t samples() const { return samples_; }

 private:
  void Run();

  const bool on_host_;
  std::atomic<bool> stop_{false}, paused_{false};
  std::atomic<uint64_t> most_{0}, samples_{0};
  std::thread thread_;
};

// Main memory of processes, from /proc/PID/smaps_rollup.
struct ProcessMemory {
  uint64_t pss = 0;        // proportional share of everything mapped
  uint64_t pss_shmem = 0;  // of that, tmpfs: counted once more with the files
};
ProcessMemory MemoryOf(int pid);
// Bytes that the expert home `home_path` and the link files beside it take.
uint64_t TmpfsBytes(const std::string& home_path);
// Type and options of the mount that a folder lies on.
std::string MountOf(const std::string& folder);

}  // namespace hearth
