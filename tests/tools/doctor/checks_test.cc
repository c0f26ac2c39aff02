#include "tools/doctor/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/byte_size.h"
#include "tools/doctor/model_needs.h"

namespace hearth::doctor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A machine with one 24 GB card and 128 GiB of RAM, on which the real model runs.
HostFacts GoodHost() {
  HostFacts facts;
  facts.gpus = {{.name = "NVIDIA GeForce RTX 3090", .memory_bytes = 24 * kGiB, .driver = "580.65.06", .compute = 8.6}};
  facts.ram_available = 124 * kGiB;
  facts.cpu_flags = {"avx2", "fma", "f16c", "sse2"};
  facts.model = {.exists = true, .writable = true, .free_bytes = 500 * kGiB};
  facts.home = {.exists = true, .writable = true, .in_memory = true, .free_bytes = 112 * kGiB};
  return facts;
}

CheckOptions GpuOptions() {
  return {.home_dir = "/run/hearth",
          .device = "cuda",
          .least_driver = "580.65",
          .gpu_code = "86-real,89-real,90-real,120",
          .download = true};
}
CheckOptions AutoOptions() {
  CheckOptions options = GpuOptions();
  options.device = "auto";
  return options;
}
// hearth-tiny, whose needs no machine fails.
ModelNeeds TinyModel() {
  return {.model_dir = "tiny", .present = true, .home_bytes = 9 * kMiB, .host_bytes = 300 * kMiB};
}
ModelNeeds RealModel() { return DefaultModelNeeds("/models", true); }

Check Named(const std::vector<Check>& checks, const std::string& name) {
  for (const Check& check : checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check " << name;
  return {};
}

// The one check that is not fine.
Check Only(const std::vector<Check>& checks) {
  Check found;
  int count = 0;
  for (const Check& check : checks) {
    if (check.verdict == Verdict::kOk) continue;
    found = check;
    ++count;
  }
  EXPECT_EQ(count, 1);
  return found;
}

Check OnlyProblem(const HostFacts& facts, const CheckOptions& options = GpuOptions()) {
  return Only(CheckHost(facts, RealModel(), options));
}

void ExpectRefusal(const Check& check, const std::string& name, const std::string& reason, const std::string& remedy) {
  EXPECT_EQ(check.name, name);
  EXPECT_EQ(check.verdict, Verdict::kRefused);
  EXPECT_THAT(check.text, AllOf(HasSubstr(reason), HasSubstr(remedy)));
  EXPECT_EQ(check.text.find('\n'), std::string::npos);
}

TEST(DoctorChecks, AGoodMachinePassesEveryCheck) {
  const auto checks = CheckHost(GoodHost(), RealModel(), GpuOptions());
  EXPECT_FALSE(AnyRefused(checks));
  EXPECT_EQ(checks.size(), 10u);
  for (const Check& check : checks) EXPECT_EQ(check.verdict, Verdict::kOk) << CheckLine(check);
}

TEST(DoctorChecks, RefusesWithoutAGpuWhenOneIsWanted) {
  HostFacts facts = GoodHost();
  facts.gpus.reset();
  facts.gpu_problem = "nvidia-smi is not there or failed";
  facts.driver_module = "580.65.06";
  ExpectRefusal(OnlyProblem(facts), "gpu", "nvidia-smi is not there", "--gpus");
}

TEST(DoctorChecks, RefusesASmallOrAnOldCard) {
  HostFacts facts = GoodHost();
  facts.gpus->front().memory_bytes = 8 * kGiB;
  ExpectRefusal(OnlyProblem(facts), "gpu", "8 GiB", "larger card");
  facts = GoodHost();
  facts.gpus->front().compute = 7.5;
  ExpectRefusal(OnlyProblem(facts), "gpu", "compute capability 7.5", "another card");
  facts.gpus->front().compute = 10.0;
  ExpectRefusal(OnlyProblem(facts), "gpu", "code for 8.6, 8.9, 9.0, 12.0 and later", "build for this one");
}

TEST(DoctorChecks, AutoOnlyWarnsOfAGpuThatTheWorkerWouldNotUse) {
  HostFacts facts = GoodHost();
  facts.gpus = {{.name = "GTX 1050", .memory_bytes = 2 * kGiB, .driver = "470.199.02", .compute = 6.1}};
  EXPECT_FALSE(OnGpu(facts, AutoOptions()));
  const Check old = Only(CheckHost(facts, TinyModel(), AutoOptions()));
  EXPECT_EQ(old.name, "gpu");
  EXPECT_EQ(old.verdict, Verdict::kWarning);
  EXPECT_THAT(old.text, HasSubstr("the host backend serves"));

  facts = GoodHost();
  EXPECT_TRUE(OnGpu(facts, AutoOptions()));
  facts.gpus->front().driver = "535.183.01";
  EXPECT_FALSE(OnGpu(facts, AutoOptions()));
  const Check driver = Only(CheckHost(facts, TinyModel(), AutoOptions()));
  EXPECT_EQ(driver.name, "driver");
  EXPECT_EQ(driver.verdict, Verdict::kWarning);
}

TEST(DoctorChecks, ABuildWithoutCudaUsesNoGpu) {
  CheckOptions options = GpuOptions();
  options.gpu_code.clear();
  ExpectRefusal(OnlyProblem(GoodHost(), options), "gpu", "this build has no CUDA", "HEARTH_CUDA=ON");
  options.device = "auto";
  EXPECT_FALSE(OnGpu(GoodHost(), options));
  const Check check = Only(CheckHost(GoodHost(), TinyModel(), options));
  EXPECT_EQ(check.name, "gpu");
  EXPECT_EQ(check.verdict, Verdict::kWarning);
}

TEST(DoctorChecks, AnOldDriverOfTheHostMattersNotWhereNoGpuIsVisible) {
  HostFacts facts = GoodHost();
  facts.gpus.reset();
  facts.driver_module = "470.199.02";
  for (const Check& check : CheckHost(facts, TinyModel(), AutoOptions())) {
    EXPECT_EQ(check.verdict, Verdict::kOk) << CheckLine(check);
  }
  EXPECT_EQ(Named(CheckHost(facts, TinyModel(), GpuOptions()), "driver").verdict, Verdict::kRefused);
}

TEST(DoctorChecks, RefusesAMissingCheckpointWhereNothingDownloadsOne) {
  CheckOptions options = GpuOptions();
  options.download = false;
  HostFacts facts = GoodHost();
  facts.model.free_bytes = 0;
  ExpectRefusal(OnlyProblem(facts, options), "model", "has no whole checkpoint", "--download");
  facts.model.exists = false;
  ExpectRefusal(OnlyProblem(facts, options), "model", "/models does not exist", "--model");
}

TEST(DoctorChecks, WarnsOfSeveralCards) {
  HostFacts facts = GoodHost();
  facts.gpus->push_back(facts.gpus->front());
  const Check check = OnlyProblem(facts);
  EXPECT_EQ(check.verdict, Verdict::kWarning);
  EXPECT_THAT(check.text, HasSubstr("2 GPUs"));
}

TEST(DoctorChecks, RefusesAnOldDriver) {
  HostFacts facts = GoodHost();
  facts.gpus->front().driver = "535.183.01";
  ExpectRefusal(OnlyProblem(facts), "driver", "535.183.01", "update the driver");
}

TEST(DoctorChecks, RefusesTooLittleRamAndTooLowACgroupLimitEachWithItsRemedy) {
  HostFacts facts = GoodHost();
  facts.ram_available = 60 * kGiB;
  ExpectRefusal(OnlyProblem(facts), "ram", "60 GiB are available", "--assume-ram-gb");
  facts = GoodHost();
  facts.cgroup_available = 64 * kGiB;
  ExpectRefusal(OnlyProblem(facts), "cgroup", "64 GiB are available", "mem_limit");
  facts.cgroup_available = 118 * kGiB;
  EXPECT_FALSE(AnyRefused(CheckHost(facts, RealModel(), GpuOptions())));
}

TEST(DoctorChecks, AssumedRamCountsInsteadOfWhatIsThere) {
  HostFacts facts = GoodHost();
  facts.ram_available = 30 * kGiB;
  CheckOptions options = GpuOptions();
  options.assumed_ram = 120 * kGiB;
  EXPECT_FALSE(AnyRefused(CheckHost(facts, RealModel(), options)));
  facts.cgroup_available = 30 * kGiB;
  EXPECT_FALSE(AnyRefused(CheckHost(facts, RealModel(), options)));
}

TEST(DoctorChecks, TooLittleAssumedRamIsToldOnceAndAsTheOptionsFault) {
  HostFacts facts = GoodHost();
  CheckOptions options = GpuOptions();
  options.assumed_ram = kMiB;
  ExpectRefusal(OnlyProblem(facts, options), "ram", "1 MiB are assumed (--assume-ram-gb)", "raise --assume-ram-gb");
  EXPECT_EQ(Named(CheckHost(facts, RealModel(), options), "cgroup").text, "no limit");
  facts.cgroup_available = 30 * kGiB;
  EXPECT_EQ(OnlyProblem(facts, options).name, "ram");
}

TEST(DoctorChecks, RefusesACpuWithoutAvx2ButOnlyWarnsWhereNothingNeedsIt) {
  HostFacts facts = GoodHost();
  facts.cpu_flags = {"sse2", "fma"};
  ExpectRefusal(OnlyProblem(facts), "cpu", "avx2, f16c", "--mode exact");
  CheckOptions options = GpuOptions();
  options.fast = false;
  EXPECT_EQ(OnlyProblem(facts, options).verdict, Verdict::kWarning);
}

TEST(DoctorChecks, RefusesADiskWithoutRoomForTheDownload) {
  HostFacts facts = GoodHost();
  facts.model.free_bytes = 40 * kGiB;
  ExpectRefusal(OnlyProblem(facts), "disk", "40 GiB free", "larger disk");
  ModelNeeds needs = RealModel();
  needs.present = true;
  EXPECT_FALSE(AnyRefused(CheckHost(facts, needs, GpuOptions())));
}

TEST(DoctorChecks, RefusesAHomeThatIsSmallMissingForeignOrOnADisk) {
  HostFacts facts = GoodHost();
  facts.home.free_bytes = 16 * kGiB;
  ExpectRefusal(OnlyProblem(facts), "home", "16 GiB", "--shm-size 110g");
  facts = GoodHost();
  facts.home.exists = false;
  ExpectRefusal(OnlyProblem(facts), "home", "does not exist", "install_home_mount.sh");
  facts = GoodHost();
  facts.home.writable = false;
  ExpectRefusal(OnlyProblem(facts), "home", "cannot be written", "990");
  facts = GoodHost();
  facts.home.in_memory = false;
  ExpectRefusal(OnlyProblem(facts), "home", "lies on a disk", "tmpfs");
}

TEST(DoctorChecks, AnAdoptedHomeNeedsNoFurtherRoom) {
  HostFacts facts = GoodHost();
  facts.ram_available = 8 * kGiB;
  facts.home.free_bytes = kGiB;
  ModelNeeds needs = RealModel();
  needs.present = true;
  needs.home_bytes = 0;
  EXPECT_FALSE(AnyRefused(CheckHost(facts, needs, GpuOptions())));
}

TEST(DoctorChecks, LowMemlockOnlyWarns) {
  HostFacts facts = GoodHost();
  facts.memlock_limit = 8 * kMiB;
  const Check check = OnlyProblem(facts);
  EXPECT_EQ(check.name, "memlock");
  EXPECT_EQ(check.verdict, Verdict::kWarning);
  EXPECT_THAT(check.text, HasSubstr("memlock=-1"));
}

TEST(DoctorChecks, RefusesATakenPort) {
  HostFacts facts = GoodHost();
  facts.port_problem = "0.0.0.0:30000: address already in use; choose another with --port";
  ExpectRefusal(OnlyProblem(facts), "port", "already in use", "--port");
}

TEST(DoctorChecks, RefusesADamagedCheckpoint) {
  ModelNeeds needs = RealModel();
  needs.problem = "/models/model-00001-of-00002.safetensors: is truncated";
  needs.present = true;
  const Check check = Only(CheckHost(GoodHost(), needs, GpuOptions()));
  EXPECT_EQ(check.name, "model");
  EXPECT_EQ(check.verdict, Verdict::kRefused);
}

TEST(DoctorChecks, ASmallModelNeedsNoGpu) {
  HostFacts facts = GoodHost();
  facts.gpus.reset();
  facts.home.free_bytes = 64 * kMiB;
  for (const Check& check : CheckHost(facts, TinyModel(), {.home_dir = "/dev/shm", .least_driver = "580.65"})) {
    EXPECT_EQ(check.verdict, Verdict::kOk) << CheckLine(check);
  }
}

TEST(DoctorChecks, LinesBeginWithTheVerdict) {
  EXPECT_EQ(CheckLine({"ram", Verdict::kOk, "fine"}), "ok       ram      fine");
  EXPECT_EQ(CheckLine({"home", Verdict::kRefused, "small"}), "REFUSED  home     small");
}

}  // namespace
}  // namespace hearth::doctor
