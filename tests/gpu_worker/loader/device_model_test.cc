#include "gpu_worker/loader/device_model.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/startup_error.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

// A device whose memory is the host's, and which registers only so many arrays.
struct Device {
  static inline std::set<void*> registered;
  static inline size_t registers = 0;

  explicit Device(size_t at_most) : memory(*kernels::RefBackend().memory), backend(kernels::RefBackend()) {
    registered.clear();
    registers = at_most;
    memory.is_host = false;
    memory.register_host = [](void* pages, size_t) -> std::string {
      if (registered.size() >= registers) return "cudaHostRegister refused 7 MiB: out of memory";
      registered.insert(pages);
      return "";
    };
    memory.unregister_host = [](void* pages) { EXPECT_EQ(registered.erase(pages), 1u); };
    backend.memory = &memory;
  }
  kernels::MemoryOps memory;
  kernels::Backend backend;
};

class DeviceModelTest : public ::testing::Test {
 protected:
  static LoadOptions InHome(const std::string& dir) {
    LoadOptions options;
    options.home.home_dir = dir;
    return options;
  }
  testing::TempDir home_;
  const LoadedModel model_ = LoadModel(HEARTH_SOURCE_DIR "/models/hearth-tiny", InHome(home_.path()));
};

TEST_F(DeviceModelTest, RegistersWhatStaysOnTheHostAsLongAsItLives) {
  const Device device(2);
  {
    const DeviceModel on_device(model_, device.backend);
    EXPECT_TRUE(Device::registered.contains(const_cast<std::byte*>(model_.home.data())));
    EXPECT_TRUE(Device::registered.contains(const_cast<void*>(model_.weights.embedding)));
    EXPECT_NE(on_device.weights().norm, model_.weights.norm);
  }
  EXPECT_TRUE(Device::registered.empty());
}

TEST_F(DeviceModelTest, ARefusedRegistrationIsSaidInOneLineWithWhatHelps) {
  const Device device(1);
  try {
    const DeviceModel on_device(model_, device.backend);
    FAIL() << "a home that the device cannot reach was accepted";
  } catch (const StartupError& error) {
    const std::string text = error.what();
    for (const char* word : {"the expert home", "cudaHostRegister refused 7 MiB", "ulimit -l", "--device host"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
    }
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace hearth
