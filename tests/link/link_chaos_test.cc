#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/link/link_test.h"
#include "tests/link/lying_daemon.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;
using testing::Lie;
using testing::LyingDaemon;
using testing::WaitFor;

class LinkChaos : public testing::LinkTest {
 protected:
  // Steps until the condition holds; each must be right.
  template <typename Condition>
  void StepUntil(Condition&& condition, const char* what) {
    const Deadline deadline = Deadline::After(30s);
    while (!condition()) {
      ASSERT_FALSE(deadline.Passed()) << "not within 30 s: " << what;
      ASSERT_TRUE(StepIsRight()) << "while waiting until " << what;
    }
  }
  // After the liar an honest daemon is taken up and used.
  void ExpectRecovery() {
    StartDaemon();
    ASSERT_TRUE(WaitUp()) << client_->state().reason;
    const uint64_t before = executor_->stats().cpu_jobs;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight());
    EXPECT_GT(executor_->stats().cpu_jobs, before);
    EXPECT_NE(client_->state().isa, "lies");
  }
};

TEST_F(LinkChaos, AResultFlagThatNeverComesIsWaitedForNoLongerThanTheDeadline) {
  {
    LyingDaemon liar(folder_.socket(), Lie::kBeatsButEndsNothing);
    StartClient();
    ASSERT_TRUE(WaitUp()) << client_->state().reason;
    StepUntil([&] { return executor_->stats().late_picks > 0; }, "a job is late");
    // Its slots are all taken by jobs that never end: it is given up and gets a region of its own again.
    StepUntil([&] { return liar.attachments() >= 2; }, "the daemon is given up");
  }
  StepUntil([&] { return !lane_.up(); }, "the lane is off");
  ExpectRecovery();
}

TEST_F(LinkChaos, ADaemonWithoutHeartbeatIsGivenUp) {
  {
    LyingDaemon liar(folder_.socket(), Lie::kSilentHeart);
    StartClient();
    StepUntil([&] { return liar.attachments() >= 2; }, "silence is noticed");
  }
  StepUntil([&] { return !lane_.up(); }, "the lane is off");
  ExpectRecovery();
}

TEST_F(LinkChaos, NumbersOfJobsThatNobodyPublishedEndNothing) {
  LyingDaemon liar(folder_.socket(), Lie::kForeignNumbers);
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  StepUntil([&] { return executor_->stats().late_picks > 0; }, "a job is late");
  StepUntil([&] { return liar.attachments() >= 2; }, "the daemon is given up");
}

TEST_F(LinkChaos, AnUnknownOutcomeCountsAsLate) {
  LyingDaemon liar(folder_.socket(), Lie::kRefusesEverything);
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(StepIsRight());
  const LaneSnapshot stats = executor_->stats();
  EXPECT_GT(stats.late_picks, 0u);
  EXPECT_EQ(client_->state().attachments, 1u) << "it answers, so it stays";
}

TEST_F(LinkChaos, StoppedForFiveSeconds) {
  StartDaemon();
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight());
  daemon_->Signal(SIGSTOP);
  const Deadline awake = Deadline::After(5s);
  while (!awake.Passed()) ASSERT_TRUE(StepIsRight());
  EXPECT_FALSE(lane_.up());
  EXPECT_NE(client_->state().reason, "");
  daemon_->Signal(SIGCONT);
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  const uint64_t before = executor_->stats().cpu_jobs;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight());
  EXPECT_GT(executor_->stats().cpu_jobs, before);
}

TEST_F(LinkChaos, AnotherHomeLayoutIsRefusedWithTheReason) {
  CpuTierClientOptions options = ClientOptions();
  options.home_layout_version = kHomeLayoutVersion + 1;
  StartDaemon();
  StartClient(options);
  ASSERT_TRUE(WaitFor([&] { return client_->state().reason.find("home layout") != std::string::npos; }))
      << client_->state().reason;
  EXPECT_NE(client_->state().reason.find("run binaries of one build"), std::string::npos) << client_->state().reason;
  EXPECT_FALSE(lane_.up());
  ASSERT_TRUE(StepIsRight());
}

// Regions that are not this worker's, or no regions at all, through the daemon's own service.
TEST_F(LinkChaos, ForeignRegionsAreRefusedAndTheDaemonLives) {
  StartDaemon();
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  client_.reset();
  const auto channel = grpc::CreateChannel(folder_.socket(), grpc::InsecureChannelCredentials());
  const auto attach = [&](const std::string& home, const std::string& link, uint64_t instance) {
    v1::AttachRequest request;
    request.set_home_path(home);
    request.set_link_path(link);
    request.set_fingerprint(home_.fingerprint());
    request.set_home_layout_version(kHomeLayoutVersion);
    request.set_link_version(kLinkVersion);
    request.set_worker_instance(instance);
    v1::AttachResponse response;
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + 10s);
    const grpc::Status status = v1::CpuTier::NewStub(channel)->Attach(&call, request, &response);
    EXPECT_FALSE(status.ok()) << link;
    return status.error_message();
  };
  // A region of another worker.
  LinkIdentity identity;
  identity.fingerprint = home_.fingerprint();
  identity.layers = home_.layers();
  identity.experts = home_.experts();
  identity.worker_pid = ::getpid();
  identity.worker_instance = 5;
  identity.attachment = 1;
  const auto region =
      *LinkAttachment::Create(folder_.path(), ClientOptions().geometry, identity, kernels::HostMemoryOps());
  EXPECT_NE(attach(folder_.home(), region->path(), 6).find("another worker"), std::string::npos);
  // One for another home.
  identity.fingerprint = "ffffffffffffffffffffffffffffffff";
  identity.attachment = 2;
  const auto other =
      *LinkAttachment::Create(folder_.path(), ClientOptions().geometry, identity, kernels::HostMemoryOps());
  EXPECT_NE(attach(folder_.home(), other->path(), 5), "");
  // Cut off, empty, full of zeros, not there; a home in place of a link and the other way round.
  const std::string odd = folder_.path() + "/odd";
  std::filesystem::copy_file(region->path(), odd);
  std::filesystem::resize_file(odd, 4096);
  EXPECT_NE(attach(folder_.home(), odd, 5), "");
  std::ofstream(odd, std::ios::trunc).close();
  EXPECT_NE(attach(folder_.home(), odd, 5), "");
  std::filesystem::resize_file(odd, 1 << 20);
  EXPECT_NE(attach(folder_.home(), odd, 5), "");
  EXPECT_NE(attach(folder_.home(), folder_.path() + "/none", 5).find("none"), std::string::npos);
  EXPECT_NE(attach(folder_.home(), folder_.home(), 5), "");
  EXPECT_NE(attach(region->path(), region->path(), 5), "");
  region->GiveUp();
  EXPECT_NE(attach(folder_.home(), region->path(), 5).find("given up"), std::string::npos);

  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight());
}

// What a process holds: open files, threads, mappings.
struct Holdings {
  size_t files = 0, threads = 0, mappings = 0;

  explicit Holdings(const std::string& pid) {
    namespace fs = std::filesystem;
    const std::string proc = "/proc/" + pid;
    for (const auto& entry : fs::directory_iterator(proc + "/fd")) static_cast<void>(entry), ++files;
    for (const auto& entry : fs::directory_iterator(proc + "/task")) static_cast<void>(entry), ++threads;
    std::ifstream maps(proc + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("hearth-") != std::string::npos || line.find("/home") != std::string::npos) ++mappings;
    }
  }
};

TEST_F(LinkChaos, AThousandAttachmentsLeakNothing) {
  StartDaemon();
  const std::string pid = std::to_string(daemon_->pid());
  const auto cycle = [&](int i) {
    StartClient();
    ASSERT_TRUE(WaitUp()) << "cycle " << i << ": " << client_->state().reason;
    ASSERT_TRUE(StepIsRight()) << "cycle " << i;
    client_.reset();
    ASSERT_FALSE(lane_.up());
  };
  for (int i = 0; i < 20; ++i) cycle(i);  // gRPC and the allocator have started their threads by then
  const Holdings own("self"), daemon(pid);
  for (int i = 20; i < 1000; ++i) {
    cycle(i);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(executor_->stats().cpu_jobs, 0u);
  // gRPC keeps a few threads and files more or less; a leak would show in the hundreds.
  constexpr size_t kSlack = 20;
  const Holdings own_after("self"), daemon_after(pid);
  EXPECT_LE(own_after.files, own.files + kSlack);
  EXPECT_LE(own_after.threads, own.threads + kSlack);
  EXPECT_LE(own_after.mappings, own.mappings + kSlack);
  EXPECT_LE(daemon_after.files, daemon.files + kSlack);
  EXPECT_LE(daemon_after.threads, daemon.threads + kSlack);
  EXPECT_LE(daemon_after.mappings, daemon.mappings + kSlack);
  EXPECT_TRUE(folder_.LinkFiles().empty());
}

TEST_F(LinkChaos, ARegionIsLetGoWhenItsDaemonIsLostBetweenTwoJobs) {
  StartDaemon();
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(StepIsRight());
  const Holdings with("self");
  daemon_->Signal(SIGKILL);
  daemon_->Wait();
  ASSERT_TRUE(WaitDown());
  // The lane is off a moment before the client lets go of the region, and a step before that must not.
  StepUntil([&] { return Holdings("self").mappings == with.mappings - 1; }, "the region is let go");
}

TEST_F(LinkChaos, ARegionIsLetGoWhenItsDaemonIsLostWithAJobInFlight) {
  LinkIdentity identity;
  identity.fingerprint = home_.fingerprint();
  identity.layers = home_.layers();
  identity.experts = home_.experts();
  identity.worker_pid = ::getpid();
  identity.attachment = 1;
  std::shared_ptr<LinkAttachment> region =
      *LinkAttachment::Create(folder_.path(), ClientOptions().geometry, identity, kernels::HostMemoryOps());
  const std::weak_ptr<LinkAttachment> watched = region;
  LinkLane lane;
  lane.Attach(std::move(region));
  const std::vector<kernels::Real> x(home_.hidden());
  const std::vector<int32_t> row{0};
  const CpuJob::Expert expert{.expert = 0, .x_rows = row};
  ASSERT_TRUE(lane.Publish({.x = x.data(), .rows = 1, .experts = {&expert, 1}, .budget = 1ms}));
  lane.Drop();
  EXPECT_FALSE(watched.expired()) << "the step thread may still wait in it";
  EXPECT_EQ(lane.Wait(Deadline::After(10s)).outcome, CpuOutcome::kGone);
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(lane.Publish({.x = x.data(), .rows = 1, .experts = {&expert, 1}, .budget = 1ms}));
}

}  // namespace
}  // namespace hearth
