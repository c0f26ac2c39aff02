#include "bench/engine/ceilings.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

namespace hearth {
namespace {

// Memory of the host that counts what is allocated, as a card's would be used up.
std::unordered_map<void*, size_t> sizes;
size_t used = 0, most = 0;

template <auto kAllocate>
void* Counted(size_t bytes) {
  void* const memory = (kernels::HostMemoryOps().*kAllocate)(bytes);
  sizes[memory] = bytes;
  used += bytes;
  most = std::max(most, used);
  return memory;
}

void Release(void* memory) {
  if (memory != nullptr) used -= sizes.at(memory);
  sizes.erase(memory);
  kernels::HostMemoryOps().release(memory);
}

class CeilingsTest : public testing::Test {
 protected:
  CeilingsTest() {
    char pattern[] = "/dev/shm/hearth-ceilings-test.XXXXXX";
    dir_ = mkdtemp(pattern);
    config_.device = "host";
    config_.cpu_tier = "";
    config_.home_dir = dir_;
    config_.model = HEARTH_SOURCE_DIR "/models/hearth-tiny";
  }
  ~CeilingsTest() override { std::filesystem::remove_all(dir_); }

  std::string dir_;
  WorkerConfig config_;
};

TEST_F(CeilingsTest, TakeNoMemoryBesideTheEngine) {
  kernels::MemoryOps memory = kernels::HostMemoryOps();
  memory.is_host = false;  // slots are allocated, not only mapped
  memory.allocate = Counted<&kernels::MemoryOps::allocate>;
  memory.allocate_zeroed = Counted<&kernels::MemoryOps::allocate_zeroed>;
  memory.release = Release;
  ChosenKernels kernels = ChooseKernels(config_);
  kernels::Backend backend = *kernels.backend;
  backend.memory = &memory;
  kernels.backend = &backend;
  for (const int slots : {0, 40, 4}) {  // all experts, some, as few as a token picks
    if (slots > 0) config_.max_slots = slots;
    ModelEngine engine(config_, kernels, dir_, {});
    const size_t before = used;
    most = used;
    const Ceilings ceilings = MeasureCeilings(engine);
    EXPECT_GT(ceilings.copy, 0);
    EXPECT_GT(ceilings.slots_many, 0);
    // Rows in and out, and a record where the cache has none to spare.
    EXPECT_LE(most - before, 64'000u + engine.home().record_stride()) << slots << " slots";
    EXPECT_EQ(engine.experts().stats().slots, engine.memory().expert_slots);
  }
}

}  // namespace
}  // namespace hearth
