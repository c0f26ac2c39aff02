#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "common/base/result.h"
#include "common/expert_link/peer_watch.h"
#include "common/ipc/shared_file.h"
#include "cpu_tier/job_loop.h"

namespace hearth {

struct AttachRequestSpec {
  std::string home_path, link_path, fingerprint;
  uint32_t home_layout_version = 0, link_version = 0;
  uint64_t worker_instance = 0;
  uint64_t worker_pid_namespace = 0;
  bool int16_welcome = false;
  bool needs_fp32_bits = false;
};

// One worker's home and link, mapped and, once started, served. Ends when the worker dies, falls silent or closes the
// region; from then on nothing of the region is written.
class Attachment {
 public:
  // Maps and checks both, and writes nothing yet: another attachment may still be served.
  static Result<std::unique_ptr<Attachment>> Open(const AttachRequestSpec& spec);
  // Once. The team serves one attachment at a time.
  void Start(uint64_t daemon_instance, const kernels::ExpertKernel& kernel, ThreadTeam& team, TierCounters& counters);
  ~Attachment();

  uint64_t worker_instance() const { return worker_instance_; }
  const char* kernel() const { return kernel_; }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  Attachment(SharedFile home_file, HomeView home, SharedFile link_file, LinkView link, uint64_t worker_pid_namespace);
  void Watch();

  SharedFile home_file_, link_file_;
  HomeView home_;
  LinkView link_;
  uint64_t worker_instance_;
  const char* kernel_ = "";
  PeerProcess worker_;
  std::atomic<bool> ended_{false};
  UniqueFd stop_;  // an eventfd
  std::unique_ptr<JobLoop> loop_;
  std::thread watch_;
};

}  // namespace hearth
