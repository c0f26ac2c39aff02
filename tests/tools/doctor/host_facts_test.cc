#include "tools/doctor/host_facts.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/base/byte_size.h"
#include "common/base/listen_socket.h"
#include "common/base/unique_fd.h"

namespace hearth::doctor {
namespace {

namespace fs = std::filesystem;

// A folder that stands for / with the files that a test puts into it.
class HostFactsTest : public ::testing::Test {
 protected:
  HostFactsTest() {
    char name[] = "/tmp/hearth-test.XXXXXX";
    root_ = ::mkdtemp(name);
    Put("/proc/meminfo", "MemTotal:       131072000 kB\nMemFree:  1 kB\nMemAvailable:   104857600 kB\n");
    Put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2 avx2 fma f16c\n\nprocessor\t: 1\nflags\t\t: fpu\n");
    Put("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max locked memory         8388608              unlimited            bytes\n");
  }
  ~HostFactsTest() override { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  HostFacts Read() {
    FactQuery query{.model_dir = root_ + "/models", .home_dir = root_ + "/home", .host = "127.0.0.1"};
    query.port = port_;
    query.nvidia_smi = root_ + "/nvidia-smi";
    return ReadHostFacts(query, root_);
  }

  std::string root_;
  std::optional<int> port_;
};

TEST_F(HostFactsTest, ReadsMemoryFlagsAndLimits) {
  const HostFacts facts = Read();
  EXPECT_EQ(facts.ram_available, 100 * kGiB);
  EXPECT_FALSE(facts.cgroup_available.has_value());
  EXPECT_EQ(facts.cpu_flags, (std::set<std::string>{"fpu", "sse2", "avx2", "fma", "f16c"}));
  EXPECT_EQ(facts.memlock_limit, 8 * kMiB);
  EXPECT_FALSE(facts.gpus.has_value());
  EXPECT_FALSE(facts.driver_module.has_value());
  Put("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes\n");
  EXPECT_FALSE(Read().memlock_limit.has_value());
}

TEST_F(HostFactsTest, ReadsALimitOfCgroupVersion2) {
  Put("/proc/self/cgroup", "0::/box\n");
  Put("/sys/fs/cgroup/box/memory.max", "10737418240\n");
  Put("/sys/fs/cgroup/box/memory.current", "3221225472\n");
  Put("/sys/fs/cgroup/box/memory.stat", "anon 1\ninactive_file 1073741824\n");
  EXPECT_EQ(Read().cgroup_available, 8 * kGiB);
}

TEST_F(HostFactsTest, ReadsALimitOfCgroupVersion1) {
  Put("/proc/self/cgroup", "5:cpu:/\n4:memory:/box\n");
  Put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4294967296\n");
  Put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1073741824\n");
  EXPECT_EQ(Read().cgroup_available, 3 * kGiB);
  Put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");  // how version 1 says "none"
  EXPECT_FALSE(Read().cgroup_available.has_value());
}

TEST_F(HostFactsTest, AsksNvidiaSmi) {
  Put("/nvidia-smi", "#!/bin/sh\necho 'NVIDIA GeForce RTX 4090, 24564, 580.65.06, 8.9'\n");
  ::chmod((root_ + "/nvidia-smi").c_str(), 0755);
  Put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun\n");
  const HostFacts facts = Read();
  ASSERT_TRUE(facts.gpus.has_value());
  EXPECT_EQ(facts.gpus->front().compute, 8.9);
  EXPECT_EQ(facts.driver_module, "580.65.06");
  Put("/nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n");
  EXPECT_FALSE(Read().gpus.has_value());
}

TEST_F(HostFactsTest, LooksAtFolders) {
  fs::create_directories(root_ + "/home");
  HostFacts facts = Read();
  EXPECT_TRUE(facts.home.exists);
  EXPECT_TRUE(facts.home.writable);
  EXPECT_TRUE(facts.home.empty);
  EXPECT_GT(facts.home.free_bytes, 0u);
  EXPECT_FALSE(facts.model.exists);
  EXPECT_GT(facts.model.free_bytes, 0u) << "room where it would be created";
  Put("/home/file", "x");
  EXPECT_FALSE(Read().home.empty);
}

TEST_F(HostFactsTest, SeesATakenPort) {
  const UniqueFd socket = ListenTcp("127.0.0.1", 0, "--port");
  port_ = BoundPort(socket.get());
  EXPECT_TRUE(Read().port_problem.has_value());
  port_.reset();
  EXPECT_FALSE(Read().port_problem.has_value());
}

}  // namespace
}  // namespace hearth::doctor
