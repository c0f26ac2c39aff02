#include <cstdio>
#include <exception>

#include "tools/synthetic/write_checkpoint.h"

// hearth-synthetic SHAPE.json DIRECTORY: a synthetic model as a checkpoint on disk.
int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(
        stderr,
        "usage: hearth-synthetic SHAPE.json DIRECTORY\n"
        "Writes a model of random numbers as a checkpoint. SHAPE.json is a config.json with an object\n"
        "hearth_synthetic; tools/synthetic has some. The real shape takes 123 GB: the worker takes it without\n"
        "a disk, as --model synthetic:SHAPE.json.\n");
    return 2;
  }
  constexpr uint64_t kShardBytes = 8'000'000'000;
  try {
    hearth::WriteCheckpoint(argv[1], argv[2], kShardBytes, [](uint64_t done, uint64_t total) {
      std::fprintf(stderr, "\r%.2f of %.2f GB", static_cast<double>(done) / 1e9, static_cast<double>(total) / 1e9);
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "\nhearth-synthetic: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "\n");
  return 0;
}
