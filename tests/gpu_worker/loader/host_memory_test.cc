#include "gpu_worker/loader/host_memory.h"

#include <gtest/gtest.h>

#include <map>

#include "common/base/startup_error.h"
#include "gpu_worker/loader/load_model.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

using Files = std::map<std::string, std::string>;

std::optional<uint64_t> Available(const Files& files) {
  return AvailableMemory([&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  });
}

const char kMeminfo[] = "MemTotal:       16000 kB\nMemFree:   100 kB\nMemAvailable:    8000 kB\n";

TEST(AvailableMemory, OfTheMachine) {
  EXPECT_EQ(Available({{"/proc/meminfo", kMeminfo}}), 8000u * 1024);
  EXPECT_EQ(Available({}), std::nullopt);
  EXPECT_EQ(Available({{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "0::/\n"},
                       {"/sys/fs/cgroup/memory.max", "max\n"},
                       {"/sys/fs/cgroup/memory.current", "5\n"}}),
            8000u * 1024);
}

TEST(AvailableMemory, TheTightestGroupCounts) {
  Files files = {{"/proc/meminfo", kMeminfo},
                 {"/proc/self/cgroup", "0::/a/b\n"},
                 {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
                 {"/sys/fs/cgroup/a/b/memory.current", "1000\n"},
                 {"/sys/fs/cgroup/a/memory.max", "1000000\n"},
                 {"/sys/fs/cgroup/a/memory.current", "400000\n"},
                 {"/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 60000\nactive_file 40000\nshmem 7\n"}};
  EXPECT_EQ(Available(files), 700000u);
  files["/sys/fs/cgroup/a/memory.current"] = "2000000\n";  // above its limit
  EXPECT_EQ(Available(files), 0u);
}

TEST(AvailableMemory, VersionOne) {
  EXPECT_EQ(Available({{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", "4:cpu,memory:/x\n3:pids:/y\n"},
                       {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n"},
                       {"/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1\n"},
                       {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"},
                       {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n"},
                       {"/sys/fs/cgroup/memory/memory.stat",
                        "inactive_file 1\nactive_file 1\ntotal_inactive_file 100\ntotal_active_file 200\n"}}),
            4300u);
}

TEST(AvailableMemory, ThisMachineHasSome) {
  const auto available = AvailableMemory();
  ASSERT_TRUE(available.has_value());
  EXPECT_GT(*available, 1u << 20);
}

TEST(MemoryProblem, SaysTheSum) {
  EXPECT_EQ(MemoryProblem(40, 60, 100), "");
  EXPECT_NE(MemoryProblem(41, 60, 100), "");
  EXPECT_NE(MemoryProblem(200, 0, 100), "");
  const std::string text = MemoryProblem(1 << 20, 3 << 20, 2 << 20);
  for (const char* part : {"1 MiB", "3 MiB", "4 MiB", "2 MiB", "--assume-ram-gb"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(MemoryProblem, RefusesBeforeLoading) {
  testing::TempDir home;
  LoadOptions options;
  options.home.home_dir = home.path();
  options.assume_ram_bytes = 1 << 20;
  try {
    LoadModel(HEARTH_SOURCE_DIR "/models/hearth-tiny", options);
    FAIL() << "it loaded";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("not enough memory"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_empty(home.path()));
}

}  // namespace
}  // namespace hearth
