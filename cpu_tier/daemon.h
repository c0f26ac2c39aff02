#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu_tier/attachment.h"
#include "cpu_tier/kernel_choice.h"
#include "cpu_tier/self_test.h"
#include "cpu_tier/thread_team.h"
#include "cpu_tier/tier_counters.h"

namespace hearth {

// The daemon without its network: threads, self-test and at most one attachment. All members are thread-safe.
class Daemon {
 public:
  Daemon(const KernelChoice& kernels, const CpuChoice& cpus);
  ~Daemon();

  struct Attached {
    Status status;
    bool busy = false;  // refused because another worker is attached and lives
  };
  // Replaces an attachment of the same worker, or one that has ended. One that cannot be made, or whose caller no
  // longer waits by the time its turn comes (`wanted`), costs the living attachment nothing.
  Attached Attach(const AttachRequestSpec& spec, const std::function<bool()>& wanted);
  void Detach(uint64_t worker_instance);
  // Lets go of an attachment that has ended: its mappings keep the home's memory alive.
  void Reap();
  bool attached();
  std::string kernel();  // of the attachment; "" without one

  SelfTestReport RunSelfTest();
  SelfTestReport self_test() const { return self_test_; }  // of the start
  const TierCounters& counters() const { return counters_; }
  uint64_t instance() const { return instance_; }
  const char* isa() const { return kernels::Name(kernels_.isa); }
  const std::vector<int>& cpus() const { return cpus_.cpus; }

 private:
  const kernels::ExpertKernel& Kernel(bool int16_welcome) const;

  const KernelChoice kernels_;
  const CpuChoice cpus_;
  const uint64_t instance_;
  TierCounters counters_;
  ThreadTeam team_;
  const SelfTestReport self_test_;
  std::mutex mutex_;
  std::unique_ptr<Attachment> attachment_;
};

}  // namespace hearth
