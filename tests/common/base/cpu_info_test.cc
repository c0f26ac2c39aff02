#include "common/base/cpu_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hearth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CpuInfo : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "cpu_info_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::string root_;
};

TEST_F(CpuInfo, ReadsCpuLists) {
  EXPECT_THAT(ParseCpuList("0-3,8,10-11"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(ParseCpuList("5"), ElementsAre(5));
  EXPECT_THAT(ParseCpuList("3-1"), IsEmpty());
  EXPECT_THAT(ParseCpuList("1-x"), IsEmpty());
  EXPECT_THAT(ParseCpuList("-1"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-99999999"), IsEmpty());
}

TEST_F(CpuInfo, FindsTheTightestQuotaOfCgroupV2) {
  Write("/sys/fs/cgroup/cgroup.controllers", "cpu memory");
  Write("/proc/self/cgroup", "0::/a/b");
  Write("/sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(CgroupCpuQuota(root_), 0);
  Write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000");
  EXPECT_EQ(CgroupCpuQuota(root_), 4);
  Write("/sys/fs/cgroup/a/cpu.max", "150000 100000");
  EXPECT_EQ(CgroupCpuQuota(root_), 1.5);
}

TEST_F(CpuInfo, FindsTheQuotaOfCgroupV1) {
  Write("/proc/self/cgroup", "3:memory:/m\n2:cpu,cpuacct:/docker/x");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(CgroupCpuQuota(root_), 0);
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000");
  EXPECT_EQ(CgroupCpuQuota(root_), 0.5);
  EXPECT_EQ(UsableCpuCount(root_), 1);
  EXPECT_EQ(UsableCoreCount(root_), 1);
}

TEST_F(CpuInfo, HasNoQuotaWithoutCgroupFiles) {
  EXPECT_EQ(CgroupCpuQuota(root_), 0);
  EXPECT_EQ(UsableCpuCount(root_), static_cast<int>(AllowedCpus().size()));
}

TEST_F(CpuInfo, TakesOneCpuOfEachCore) {
  for (int cpu : {0, 4})
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "0,4");
  for (int cpu : {1, 5})
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "1,5");
  EXPECT_THAT(PhysicalCores({0, 1, 4, 5, 9}, root_), ElementsAre(0, 1, 9));
  EXPECT_THAT(PhysicalCores({5, 4}, root_), ElementsAre(4, 5));
}

TEST_F(CpuInfo, CountsCoresNotTheirThreads) {
  const std::vector<int> allowed = AllowedCpus();
  EXPECT_EQ(UsableCoreCount(root_), static_cast<int>(allowed.size())) << "nothing tells which CPUs share a core";
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  const std::string pair = std::to_string(allowed[0]) + "," + std::to_string(allowed[1]);
  for (int i : {0, 1}) {
    Write("/sys/devices/system/cpu/cpu" + std::to_string(allowed[static_cast<size_t>(i)]) +
              "/topology/thread_siblings_list",
          pair);
  }
  EXPECT_EQ(UsableCoreCount(root_), static_cast<int>(allowed.size()) - 1);
}

TEST_F(CpuInfo, TheFirstCoresAreTheMachinesWithAllTheirCpus) {
  Write("/sys/devices/system/cpu/online", "0-1,4-5,9");
  for (int cpu : {0, 4})
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "0,4");
  for (int cpu : {1, 5})
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "1,5");
  EXPECT_THAT(FirstCores(1, root_), ElementsAre(0, 4));
  EXPECT_THAT(FirstCores(2, root_), ElementsAre(0, 4, 1, 5));
  EXPECT_THAT(FirstCores(8, root_), ElementsAre(0, 4, 1, 5, 9));
}

TEST_F(CpuInfo, TheFirstCoresAreZeroAndOneWhereNothingTells) { EXPECT_THAT(FirstCores(2, root_), ElementsAre(0, 1)); }

}  // namespace
}  // namespace hearth
