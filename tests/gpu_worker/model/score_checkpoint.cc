// Runs one sequence through a checkpoint and writes its logits: the engine's half of odd_checkpoints.py.
//   score_checkpoint MODEL TOKENS(comma separated) DECODE_FROM CHUNK_SIZE BACKEND(ref|avx2) OUT
// OUT gets fp32 [tokens, vocab], little endian. Rows before DECODE_FROM are prefilled in chunks, the others decoded.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/model_runner.h"

int main(int argc, char** argv) {
  using namespace hearth;
  if (argc != 7) {
    std::fprintf(stderr, "usage: score_checkpoint MODEL TOKENS DECODE_FROM CHUNK_SIZE ref|avx2 OUT\n");
    return 2;
  }
  std::vector<int32_t> tokens;
  std::stringstream list(argv[2]);
  for (std::string word; std::getline(list, word, ',');) tokens.push_back(std::atoi(word.c_str()));
  const bool avx2 = std::string(argv[5]) == "avx2";
  if (avx2 && !kernels::HostHasAvx2()) {
    std::fprintf(stderr, "no AVX2 here\n");
    return 77;
  }
  try {
    testing::TemporaryHome home;
    LoadOptions options;
    options.home.home_dir = home.path();
    LoadedModel model = LoadModel(argv[1], options);
    testing::ModelRunner runner(model, avx2 ? kernels::Avx2Backend() : kernels::RefBackend(),
                                {.chunk_size = std::atoi(argv[4])});
    const std::vector<float> logits = runner.Run(tokens, std::atoi(argv[3]));
    std::ofstream out(argv[6], std::ios::binary);
    out.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
    return out ? 0 : 1;
  } catch (const StartupError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
