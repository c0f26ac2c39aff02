#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "gpu_worker/experts/cpu_tier_client.h"
#include "gpu_worker/experts/direct_executor.h"
#include "gpu_worker/experts/lane_executor.h"
#include "tests/link/daemon_process.h"
#include "tests/link/link_client.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;
using kernels::Real;
using testing::ChildProcess;
using testing::DaemonCommand;
using testing::HomeFolder;
using testing::kMaxRows;
using testing::kTopK;

const kernels::Backend& TestBackend() {
  return kernels::HostHasAvx2() ? kernels::Avx2Backend() : kernels::RefBackend();
}

template <typename Condition>
bool WaitFor(Condition&& condition, std::chrono::seconds time = 30s) {
  const Deadline deadline = Deadline::After(time);
  while (!condition()) {
    if (deadline.Passed()) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// This process is the worker: home, executor with every pick sent to the CPU, client.
class Link : public ::testing::Test {
 protected:
  Link() : tiny_({.layers = 2, .experts = 8, .hidden = 128, .width = 128}), home_(tiny_.view()) {
    tiny_.WriteTo(folder_.home());
    options_.cpu_lane = CpuLaneMode::kAlways;
    options_.max_slots = 6;
  }

  CpuTierClientOptions ClientOptions() const {
    return testing::ClientOptions(home_, folder_.home(), folder_.path(), folder_.socket());
  }
  void StartDaemon() { daemon_ = std::make_unique<ChildProcess>(DaemonCommand(folder_)); }
  void StartClient() { StartClient(ClientOptions()); }
  void StartClient(const CpuTierClientOptions& options) {
    executor_ = std::make_unique<LaneExecutor>(home_, TestBackend(), options_, &lane_);
    client_ = std::make_unique<CpuTierClient>(options, lane_);
  }
  bool WaitUp() {
    return WaitFor([&] { return client_->state().up && lane_.up(); });
  }
  bool WaitDown() {
    return WaitFor([&] { return !client_->state().up && !lane_.up(); });
  }

  // One step of random rows and picks; false when a bit differs from the home's own answer.
  bool StepIsRight() {
    const int64_t rows = 1 + static_cast<int64_t>(random_() % kMaxRows);
    std::vector<Real> x(static_cast<size_t>(rows) * home_.hidden());
    for (Real& value : x) value = std::normal_distribution<float>()(random_);
    std::vector<int32_t> ids;
    for (int64_t row = 0; row < rows; ++row) {
      std::set<int32_t> picks;
      while (picks.size() < kTopK) picks.insert(static_cast<int32_t>(random_() % home_.experts()));
      ids.insert(ids.end(), picks.begin(), picks.end());
    }
    std::vector<Real> got(static_cast<size_t>(rows) * kTopK * home_.hidden(), -1), want(got.size(), -2);
    MoeStep step{static_cast<int>(random_() % home_.layers()), x.data(), x.data(), ids.data(), rows, kTopK, got.data()};
    EXPECT_TRUE(executor_->BeginDecode(step).ok());
    EXPECT_TRUE(executor_->FinishDecode(step).ok());
    step.pick_out = want.data();
    DirectExecutor direct(home_, TestBackend());
    EXPECT_TRUE(direct.FinishDecode(step).ok());
    return std::memcmp(got.data(), want.data(), got.size() * sizeof(Real)) == 0;
  }

  HomeFolder folder_;
  const testing::TinyHome tiny_;
  const HomeView home_;
  std::mt19937 random_{17};
  ExecutorOptions options_;
  LinkLane lane_;
  std::unique_ptr<LaneExecutor> executor_;
  std::unique_ptr<CpuTierClient> client_;
  std::unique_ptr<ChildProcess> daemon_;
};

TEST_F(Link, JobsComeBackBitForBit) {
  StartDaemon();
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  EXPECT_EQ(client_->state().selftest, "passed");
  EXPECT_TRUE(folder_.LinkFiles().empty()) << "the file has no name once both sides have it";
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(StepIsRight()) << "step " << i;
  const LaneSnapshot stats = executor_->stats();
  EXPECT_EQ(stats.cpu_jobs, 300u);
  EXPECT_GT(stats.picks.cpu, stats.late_picks);
  client_.reset();
  EXPECT_FALSE(lane_.up());
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(Link, AKilledDaemonCostsNoBitAndItsSuccessorIsTakenUp) {
  StartClient();
  for (int kill = 0; kill < 20; ++kill) {
    StartDaemon();
    ASSERT_TRUE(WaitUp()) << client_->state().reason;
    const uint64_t jobs = executor_->stats().cpu_jobs;
    std::thread killer([&, after = std::chrono::microseconds(random_() % 20000)] {
      std::this_thread::sleep_for(after);
      daemon_->Signal(SIGKILL);
    });
    int steps = 0;
    bool right = true;
    while (right && (lane_.up() || steps < 10)) {
      right = StepIsRight();
      ++steps;
    }
    killer.join();
    ASSERT_TRUE(right) << "kill " << kill << " step " << steps;
    ASSERT_GT(executor_->stats().cpu_jobs, jobs);
    daemon_->Wait();
    ASSERT_TRUE(WaitDown());
    EXPECT_FALSE(client_->state().reason.empty());
    EXPECT_EQ(client_->state().attachments, static_cast<uint64_t>(kill) + 1);
  }
}

TEST_F(Link, AStoppedDaemonThatWakesUpWritesNowhere) {
  // The shortest deadline makes nearly every job of a stopped daemon late.
  options_.least_cpu_deadline = 2ms;
  StartDaemon();
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  for (int stop = 0; stop < 10; ++stop) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(StepIsRight());
    daemon_->Signal(SIGSTOP);
    // Every other time long enough to be given up, else only long enough to fill the slots with late jobs.
    const bool given_up = stop % 2 == 1;
    int steps = 0;
    while (given_up ? lane_.up() || steps < 5 : steps < 12) {
      ASSERT_TRUE(StepIsRight()) << "stop " << stop;
      ++steps;
    }
    if (given_up) {
      ASSERT_TRUE(WaitDown());
    }
    daemon_->Signal(SIGCONT);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight()) << "after stop " << stop;
    ASSERT_TRUE(WaitUp()) << client_->state().reason;
  }
  EXPECT_GT(executor_->stats().late_picks, 0u);
  EXPECT_GE(client_->state().attachments, 6u);
}

TEST_F(Link, AnotherLinkVersionIsRefusedWithTheReason) {
  CpuTierClientOptions options = ClientOptions();
  options.link_version = kLinkVersion + 1;
  StartDaemon();
  StartClient(options);
  ASSERT_TRUE(WaitFor([&] { return client_->state().reason.find("link version 2") != std::string::npos; }))
      << client_->state().reason;
  EXPECT_FALSE(lane_.up());
  ASSERT_TRUE(StepIsRight());
}

TEST_F(Link, AForeignFingerprintIsRefusedWithTheReason) {
  CpuTierClientOptions options = ClientOptions();
  options.fingerprint = "ffff";
  StartDaemon();
  StartClient(options);
  ASSERT_TRUE(WaitFor([&] { return client_->state().reason.find("fingerprint") != std::string::npos; }))
      << client_->state().reason;
  EXPECT_FALSE(lane_.up());
  client_.reset();
  EXPECT_TRUE(folder_.LinkFiles().empty());
}

TEST_F(Link, OneWorkerAtATimeAndADeadOneMakesRoom) {
  StartDaemon();
  ChildProcess other({HEARTH_BIN_DIR "/../tests/link_other_worker", folder_.home(), folder_.path(), folder_.socket()});
  ASSERT_TRUE(WaitFor([&] { return std::filesystem::exists(folder_.path() + "/attached"); }));
  StartClient();
  ASSERT_TRUE(WaitFor([&] { return client_->state().reason.find("another worker") != std::string::npos; }))
      << client_->state().reason;
  EXPECT_FALSE(lane_.up());
  other.Kill();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight());
  EXPECT_GT(executor_->stats().picks.cpu, 0u);
  EXPECT_TRUE(folder_.LinkFiles().empty()) << "a killed worker leaves nothing";
}

TEST_F(Link, FilesOfDeadWorkersAreRemoved) {
  // No process has an id above the kernel's limit.
  const std::string stale = folder_.path() + "/hearth-link-1073741823-1", own = folder_.path() + "/hearth-link-1-1";
  std::filesystem::copy_file(folder_.home(), stale);
  std::filesystem::copy_file(folder_.home(), own);
  RemoveStaleLinks(folder_.path());
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(own)) << "process 1 lives";
}

}  // namespace
}  // namespace hearth
