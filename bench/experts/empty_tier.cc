#include "bench/experts/empty_tier.h"

#include <unistd.h>

#include "common/base/startup_error.h"

namespace hearth {
namespace {

class EmptyKernel final : public kernels::ExpertKernel {
 public:
  explicit EmptyKernel(int units) : units_(units) {}
  const char* name() const override { return "empty"; }
  kernels::Dim ScratchBytes(const MlpView&, kernels::Dim) const override { return 64; }
  kernels::Dim Units(const MlpView&, kernels::Dim, kernels::ExpertPhase phase) const override {
    return phase == kernels::ExpertPhase::kRotateIn ? units_ : 0;
  }
  void Run(const kernels::ExpertFfnArgs&, kernels::ExpertPhase, kernels::Dim, void*) const override {}

 private:
  const kernels::Dim units_;
};

}  // namespace

std::shared_ptr<LinkAttachment> MakeEmptyJobRegion(const HomeView& home, const kernels::MemoryOps& memory) {
  LinkIdentity identity;
  identity.fingerprint = home.fingerprint();
  identity.layers = home.layers();
  identity.experts = home.experts();
  identity.worker_pid = ::getpid();
  identity.worker_instance = identity.attachment = 1;
  const LinkGeometry geometry{
      .hidden = EmptyTier::kHidden, .max_rows = 8, .max_picks = 64, .max_experts = EmptyTier::kExperts, .slots = 4};
  Result<std::shared_ptr<LinkAttachment>> region = LinkAttachment::Create("/dev/shm", geometry, identity, memory);
  if (!region.ok()) throw StartupError(region.status().message());
  (*region)->Unlink();
  return *std::move(region);
}

EmptyTier::EmptyTier(int threads, const std::string& cpus, int units, const kernels::MemoryOps& memory)
    : tiny_({.layers = 1, .experts = kExperts, .hidden = kHidden, .width = 128}),
      home_(tiny_.view()),
      region_(MakeEmptyJobRegion(home_, memory)),
      kernel_(std::make_unique<EmptyKernel>(units)),
      team_(std::make_unique<ThreadTeam>(ChooseCpus(OfferOfThisMachine(), cpus, threads))),
      loop_(std::make_unique<JobLoop>(home_, region_->view(), *kernel_, *team_, counters_)) {}

EmptyTier::~EmptyTier() = default;

}  // namespace hearth
