// A worker that only attaches, for tests that need a second one: other_worker HOME FOLDER ADDRESS. Writes the file
// FOLDER/attached once it is attached, FOLDER/refused with the reason when it was refused, and sleeps until killed.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "common/ipc/shared_file.h"
#include "gpu_worker/experts/cpu_tier_client.h"
#include "tests/link/link_client.h"

int main(int, char** argv) {
  using namespace std::chrono_literals;
  const std::string folder = argv[2];
  const auto file = *hearth::SharedFile::OpenExisting(argv[1], hearth::SharedFile::Access::kReadOnly);
  const auto home = *hearth::HomeView::Open(file.bytes().data(), file.size(), "");
  hearth::LinkLane lane;
  hearth::CpuTierClient client(hearth::testing::ClientOptions(home, argv[1], folder, argv[3]), lane);
  for (int i = 0; i < 6000; ++i) {
    const hearth::CpuTierState state = client.state();
    if (state.up) std::ofstream(folder + "/attached") << "yes";
    if (state.reason.find("another worker") != std::string::npos) std::ofstream(folder + "/refused") << state.reason;
    std::this_thread::sleep_for(10ms);
  }
}
