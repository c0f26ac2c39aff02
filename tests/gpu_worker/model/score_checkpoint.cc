// Runs one sequence through a checkpoint and writes its logits: the engine's half of odd_checkpoints.py and
// transformers_check.py.
//   score_checkpoint MODEL TOKENS(comma separated) DECODE_FROM CHUNK_SIZE BACKEND(ref|avx2|cuda|cuda-f16x2) OUT
// OUT gets fp32 [tokens, vocab], little endian. Rows before DECODE_FROM are prefilled in chunks, the others decoded.
// Exit status 77: this machine or this build lacks the backend.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/model_runner.h"
#ifdef HEARTH_WITH_CUDA
#include "kernels/cuda_backend.h"
#endif

namespace {

using hearth::kernels::Backend;

// null, after a line on stderr, where the backend cannot run.
const Backend* FindBackend(const std::string& name) {
  if (name == "ref") return &hearth::kernels::RefBackend();
  if (name == "avx2" && hearth::kernels::HostHasAvx2()) return &hearth::kernels::Avx2Backend();
  std::string problem = "no AVX2 here";
  if (name.starts_with("cuda")) {
#ifdef HEARTH_WITH_CUDA
    using hearth::kernels::PrefillOperands;
    problem = hearth::kernels::CudaProblem();
    if (problem.empty()) {
      return &hearth::kernels::CudaBackend(name == "cuda" ? PrefillOperands::kF16 : PrefillOperands::kF16x2);
    }
#else
    problem = "this build has no CUDA; build with HEARTH_CUDA=ON";
#endif
  }
  std::fprintf(stderr, "%s\n", problem.c_str());
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hearth;
  const std::string name = argc == 7 ? argv[5] : "";
  if (name != "ref" && name != "avx2" && name != "cuda" && name != "cuda-f16x2") {
    std::fprintf(stderr, "usage: score_checkpoint MODEL TOKENS DECODE_FROM CHUNK_SIZE ref|avx2|cuda|cuda-f16x2 OUT\n");
    return 2;
  }
  std::vector<int32_t> tokens;
  std::stringstream list(argv[2]);
  for (std::string word; std::getline(list, word, ',');) tokens.push_back(std::atoi(word.c_str()));
  const kernels::Backend* backend = FindBackend(name);
  if (backend == nullptr) return 77;
  try {
    testing::TemporaryHome home;
    LoadOptions options;
    options.home.home_dir = home.path();
    LoadedModel model = LoadModel(argv[1], options);
    testing::ModelRunner runner(model, *backend, {.chunk_size = std::atoi(argv[4])});
    const std::vector<float> logits = runner.Run(tokens, std::atoi(argv[3]));
    std::ofstream out(argv[6], std::ios::binary);
    out.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size() * sizeof(float)));
    return out ? 0 : 1;
  } catch (const StartupError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
