#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/link/link_test.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;
using testing::ChildProcess;
using testing::WaitFor;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class Link : public testing::LinkTest {};

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

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

TEST_F(Link, AForcedInt16KernelIsNoneForAWorkerThatNeedsTheBitsOfFp32) {
  std::vector<std::string> command = testing::DaemonCommand(folder_);
  command.insert(command.end(), {"--kernel", "int16"});
  daemon_ = std::make_unique<ChildProcess>(command);
  CpuTierClientOptions options = ClientOptions();
  options.needs_fp32_bits = true;
  StartClient(options);
  ASSERT_TRUE(WaitFor([&] { return client_->state().reason.find("--kernel auto or fp32") != std::string::npos; }))
      << client_->state().reason;
  EXPECT_FALSE(lane_.up());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(StepIsRight());
  client_.reset();
  StartClient();
  ASSERT_TRUE(WaitUp()) << client_->state().reason;
  EXPECT_TRUE(client_->state().isa.ends_with("-int16")) << client_->state().isa;
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

TEST_F(Link, ADaemonThatNeverComesIsLoggedOnceAfterAWhile) {
  CpuTierClientOptions options = ClientOptions();
  options.silence_allowed = 300ms;
  CaptureStderr();
  StartClient(options);
  std::this_thread::sleep_for(2s);
  client_.reset();
  const std::string log = GetCapturedStderr();
  EXPECT_EQ(Count(log, "cpu_tier not attached"), 1u) << log;
  EXPECT_NE(log.find("does not answer; start hearth-cpu-tier, or run the worker without"), std::string::npos) << log;
  EXPECT_NE(log.find("--cpu-lane never"), std::string::npos) << log;
}

TEST_F(Link, ADaemonThatStartsAfterItsWorkerIsNoEvent) {
  CpuTierClientOptions options = ClientOptions();
  options.silence_allowed = 60s;  // longer than a daemon takes to start on any machine
  CaptureStderr();
  StartClient(options);
  std::this_thread::sleep_for(1s);
  EXPECT_NE(client_->state().reason.find("does not answer"), std::string::npos) << client_->state().reason;
  StartDaemon();
  EXPECT_TRUE(WaitUp()) << client_->state().reason;
  client_.reset();
  const std::string log = GetCapturedStderr();
  EXPECT_EQ(Count(log, "not attached"), 0u) << log;
  EXPECT_EQ(Count(log, "cpu_tier attached"), 1u) << log;
}

// The words change with every try, as those of a full file system do.
TEST_F(Link, ARegionThatCannotBeMadeIsLoggedOnce) {
  static std::atomic<int> tries, allowed_after;
  tries = 0;
  allowed_after = 1 << 30;
  kernels::MemoryOps memory = kernels::HostMemoryOps();
  memory.register_host = [](void*, size_t) {
    return ++tries > allowed_after ? std::string() : "no room, try " + std::to_string(tries);
  };
  CpuTierClientOptions options = ClientOptions();
  options.memory = &memory;
  options.silence_allowed = 60s;
  CaptureStderr();
  StartDaemon();
  StartClient(options);
  EXPECT_TRUE(WaitFor([] { return tries >= 4; }));
  EXPECT_NE(client_->state().reason.find("no room"), std::string::npos) << client_->state().reason;
  allowed_after = tries.load();
  EXPECT_TRUE(WaitUp()) << client_->state().reason;
  client_.reset();
  const std::string log = GetCapturedStderr();
  EXPECT_EQ(Count(log, "not attached"), 1u) << log;
  EXPECT_NE(log.find("link region: no room, try 1;"), std::string::npos) << log;
  EXPECT_NE(log.find("--cpu-lane never"), std::string::npos) << log;
  EXPECT_EQ(Count(log, "cpu_tier attached"), 1u) << log;
}

// As from a daemon that does not see the worker's folder.
TEST_F(Link, ARefusalThatNamesTheRegionIsLoggedOnce) {
  static std::string folder;
  static std::atomic<int> tries;
  folder = folder_.path();
  tries = 0;
  kernels::MemoryOps memory = kernels::HostMemoryOps();
  memory.register_host = [](void*, size_t) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with("hearth-link-")) std::filesystem::remove(entry.path());
    }
    ++tries;
    return std::string();
  };
  CpuTierClientOptions options = ClientOptions();
  options.memory = &memory;
  options.silence_allowed = 60s;
  CaptureStderr();
  StartDaemon();
  StartClient(options);
  EXPECT_TRUE(WaitFor([] { return tries >= 4; }));
  client_.reset();
  const std::string log = GetCapturedStderr();
  EXPECT_EQ(Count(log, "cpu_tier not attached"), 1u) << log;
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

// As in a container whose worker was killed: the next one has the same id.
TEST_F(Link, AFileOfAnEarlierProcessWithTheSameIdIsRemoved) {
  StartDaemon();
  const std::string other = HEARTH_BIN_DIR "/../tests/link_other_worker";
  ChildProcess worker({"/bin/sh", "-c", "cp \"$1\" \"$2/hearth-link-$$-77\" && exec \"$0\" \"$1\" \"$2\" \"$3\"", other,
                       folder_.home(), folder_.path(), folder_.socket()});
  ASSERT_TRUE(WaitFor([&] { return std::filesystem::exists(folder_.path() + "/attached"); }));
  EXPECT_TRUE(folder_.LinkFiles().empty()) << folder_.LinkFiles().front();
}

TEST_F(Link, AFileThatThisProcessMadeIsNotStale) {
  LinkIdentity identity;
  identity.fingerprint = home_.fingerprint();
  identity.layers = home_.layers();
  identity.experts = home_.experts();
  identity.worker_pid = ::getpid();
  identity.attachment = 1;
  const auto region =
      *LinkAttachment::Create(folder_.path(), ClientOptions().geometry, identity, kernels::HostMemoryOps());
  RemoveStaleLinks(folder_.path());
  EXPECT_TRUE(std::filesystem::exists(region->path()));
}

}  // namespace
}  // namespace hearth
