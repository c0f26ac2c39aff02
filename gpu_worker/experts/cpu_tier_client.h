#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/base/unique_fd.h"
#include "common/expert_home/home_layout.h"
#include "common/expert_link/link_layout.h"
#include "common/expert_link/peer_watch.h"
#include "gpu_worker/experts/link_lane.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace hearth {

struct CpuTierClientOptions {
  std::string address;   // of the daemon's gRPC service
  std::string link_dir;  // the folder of the home
  std::string home_path;
  std::string fingerprint;  // of the home
  uint32_t layers = 0, experts = 0;
  LinkGeometry geometry;  // slots 0: four
  uint32_t home_layout_version = kHomeLayoutVersion;
  uint32_t link_version = kLinkVersion;
  const kernels::MemoryOps* memory = &kernels::HostMemoryOps();  // of the device that reads results
  bool int16_welcome = false;    // the device's own experts are not those of the fp32 kernel
  bool needs_fp32_bits = false;  // exact mode: a daemon whose kernel has other bits is left alone
  // Before the log says that no daemon answers: one that starts after the worker is no event.
  std::chrono::milliseconds silence_allowed{5000};
};

// Geometry for decode steps of up to `max_rows` rows.
LinkGeometry LinkGeometryFor(uint32_t hidden, uint32_t experts, uint32_t max_rows, uint32_t top_k);

struct CpuTierState {
  bool up = false;
  std::string reason;  // why it is not up, for health; "" when it is
  std::string isa;     // of the daemon attached last
  uint32_t threads = 0;
  std::string selftest = "not run";
  uint64_t attachments = 0;  // how often a daemon was taken up
};

// Minds the daemon from a thread of its own: attaches, beats, watches, takes the lane down when the daemon dies or
// falls silent, and tries again for ever. Needs no daemon to start; it is welcome whenever it comes.
class CpuTierClient {
 public:
  // `lane` must outlive this object.
  CpuTierClient(const CpuTierClientOptions& options, LinkLane& lane);
  ~CpuTierClient();  // detaches
  CpuTierClient(const CpuTierClient&) = delete;
  CpuTierClient& operator=(const CpuTierClient&) = delete;

  CpuTierState state() const;

 private:
  // Why a try failed.
  enum class Hindrance { kNone, kSilent, kNoRegion, kRefused };

  void Run();
  bool TryAttach();
  void Watch();
  void Drop(const std::string& reason);
  void Detach();
  void NotAttached(const std::string& reason);
  // For health at once, and once for the log; `link_path` is the region that the reason may name.
  void Hindered(Hindrance what, const std::string& reason, const std::string& link_path = "");
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  const CpuTierClientOptions options_;
  const uint64_t instance_;
  LinkLane& lane_;
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<LinkAttachment> attachment_;  // the thread's own
  PeerProcess daemon_;
  uint64_t attempts_ = 0;
  Hindrance hindrance_ = Hindrance::kNone;  // of the latest tries in a row
  std::chrono::steady_clock::time_point hindered_since_;
  std::string told_;  // what the log has about it

  mutable std::mutex mutex_;
  CpuTierState state_;
  grpc::ClientContext* running_call_ = nullptr;

  std::atomic<bool> stopping_{false};
  UniqueFd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace hearth
