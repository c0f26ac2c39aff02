#include "bench/engine/machine_use.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#ifdef HEARTH_WITH_CUDA
#include "kernels/cuda_backend.h"
#endif

namespace hearth {
namespace {

uint64_t UsedVram() {
#ifdef HEARTH_WITH_CUDA
  const kernels::CudaDevice device = kernels::DescribeCudaDevice();
  return device.total_bytes - device.free_bytes;
#else
  return 0;
#endif
}

}  // namespace

VramSampler::VramSampler(const ChosenKernels& kernels) : on_host_(kernels.on_host()) {
  if (!on_host_) thread_ = std::thread([this] { Run(); });
}

VramSampler::~VramSampler() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void VramSampler::Run() {
  while (!stop_) {
    if (!paused_) {
      const uint64_t used = UsedVram();
      if (!paused_ && used > most_) most_ = used;
      ++samples_;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

ProcessMemory MemoryOf(int pid) {
  ProcessMemory memory;
  std::ifstream in("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t kib = 0;
    words >> key >> kib;
    if (key == "Pss:") memory.pss = kib * 1024;
    if (key == "Pss_Shmem:") memory.pss_shmem = kib * 1024;
  }
  return memory;
}

uint64_t TmpfsBytes(const std::string& home_path) {
  const std::filesystem::path home = home_path;
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(home.parent_path(), error)) {
    struct stat facts {};
    const bool ours = entry.path() == home || entry.path().filename().string().starts_with("hearth-link-");
    if (ours && ::stat(entry.path().c_str(), &facts) == 0) bytes += static_cast<uint64_t>(facts.st_blocks) * 512;
  }
  return bytes;
}

std::string MountOf(const std::string& folder) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(folder, error).string();
  std::ifstream in("/proc/mounts");
  std::string best, answer = "unknown";
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string device, point, type, options;
    words >> device >> point >> type >> options;
    const bool holds = path == point || point == "/" || path.starts_with(point + "/");
    if (!holds || point.size() < best.size()) continue;
    best = point;
    answer = point + " " + type + " " + options;
  }
  return answer;
}

}  // namespace hearth
