#pragma once

#include <gtest/gtest.h>

#include <cstring>
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

namespace hearth::testing {

using namespace std::chrono_literals;
using kernels::Real;

inline const kernels::Backend& TestBackend() {
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
class LinkTest : public ::testing::Test {
 protected:
  LinkTest() : tiny_({.layers = 2, .experts = 8, .hidden = 128, .width = 128}), home_(tiny_.view()) {
    tiny_.WriteTo(folder_.home());
    options_.cpu_lane = CpuLaneMode::kAlways;
    options_.max_slots = 6;
  }

  CpuTierClientOptions ClientOptions() const {
    return hearth::testing::ClientOptions(home_, folder_.home(), folder_.path(), folder_.socket());
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
  const TinyHome tiny_;
  const HomeView home_;
  std::mt19937 random_{17};
  ExecutorOptions options_;
  LinkLane lane_;
  std::unique_ptr<LaneExecutor> executor_;
  std::unique_ptr<CpuTierClient> client_;
  std::unique_ptr<ChildProcess> daemon_;
};

}  // namespace hearth::testing
