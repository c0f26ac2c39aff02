#include "cpu_tier/daemon.h"

#include <random>

#include "common/log/log.h"

namespace hearth {
namespace {

uint64_t RandomInstance() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

// The worst of all kernels that a worker may get.
SelfTestReport TestKernels(const KernelChoice& choice, ThreadTeam& team) {
  SelfTestReport worst;
  worst.passed = true;
  for (const kernels::ExpertArithmetic arithmetic : choice.Possible()) {
    const SelfTestReport report = RunSelfTest(choice.Kernel(arithmetic), arithmetic, team);
    if (report.worst_relative_error < worst.worst_relative_error && report.passed) continue;
    if (!worst.passed && report.passed) continue;
    worst = report;
  }
  return worst;
}

}  // namespace

Daemon::Daemon(const KernelChoice& kernels, const CpuChoice& cpus)
    : kernels_(kernels),
      cpus_(cpus),
      instance_(RandomInstance()),
      team_(cpus),
      self_test_(TestKernels(kernels, team_)) {}

Daemon::~Daemon() = default;

Daemon::Attached Daemon::Attach(const AttachRequestSpec& spec, const std::function<bool()>& wanted) {
  const std::lock_guard lock(mutex_);
  // A caller that left while this waited for the lock has given its region up and may have a successor attached by now.
  if (!wanted()) return {Cancelled("the caller has left")};
  if (!self_test_.passed) return {FailedPrecondition("cpu_tier's self-test ", self_test_.Summary())};
  if (attachment_ != nullptr && !attachment_->ended() && attachment_->worker_instance() != spec.worker_instance) {
    return {FailedPrecondition("cpu_tier serves another worker"), true};
  }
  const Status bits = spec.needs_fp32_bits ? kernels_.CheckFp32Bits() : Status::Ok();
  Result<std::unique_ptr<Attachment>> attachment = bits.ok() ? Attachment::Open(spec) : bits;
  if (!attachment.ok()) {
    Log(LogLevel::kWarning, "attach refused", {{"reason", attachment.status().message()}});
    return {attachment.status()};
  }
  attachment_.reset();  // the team is free from here on
  attachment_ = *std::move(attachment);
  const kernels::ExpertKernel& kernel = Kernel(spec.int16_welcome);
  attachment_->Start(instance_, kernel, team_, counters_);
  Log(LogLevel::kInfo, "attached",
      {{"home", spec.home_path},
       {"kernel", kernel.name()},
       {"variant", kernel.variant()},
       {"worker_instance", spec.worker_instance}});
  return {Status::Ok()};
}

void Daemon::Detach(uint64_t worker_instance) {
  const std::lock_guard lock(mutex_);
  if (attachment_ != nullptr && attachment_->worker_instance() == worker_instance) attachment_.reset();
}

void Daemon::Reap() {
  const std::lock_guard lock(mutex_);
  if (attachment_ != nullptr && attachment_->ended()) attachment_.reset();
}

bool Daemon::attached() {
  const std::lock_guard lock(mutex_);
  return attachment_ != nullptr && !attachment_->ended();
}

std::string Daemon::kernel() {
  const std::lock_guard lock(mutex_);
  return attachment_ != nullptr && !attachment_->ended() ? attachment_->kernel() : "";
}

const kernels::ExpertKernel& Daemon::Kernel(bool int16_welcome) const {
  return kernels_.Kernel(kernels_.For(int16_welcome));
}

SelfTestReport Daemon::RunSelfTest() {
  // A team of its own: the daemon's may be in the middle of a job.
  ThreadTeam team(CpuChoice{{cpus_.cpus.front()}, false});
  return TestKernels(kernels_, team);
}

}  // namespace hearth
