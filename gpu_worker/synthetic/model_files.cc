#include "gpu_worker/synthetic/model_files.h"

#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/small_file.h"
#include "gpu_worker/synthetic/synthetic_source.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxConfig = 16'000'000;

template <typename T>
T ValueOrThrow(Result<T> result, const std::string& place, const char* help) {
  if (!result.ok()) throw StartupError(StrCat(place, ": ", result.status().message(), help));
  return *std::move(result);
}

ModelFiles OpenCheckpoint(const std::string& directory) {
  auto checkpoint = std::make_unique<Checkpoint>(directory);
  ModelFiles files;
  files.config = ValueOrThrow(ParseModelConfig(checkpoint->config_text()), directory, kFetchAgain);
  files.generation =
      ValueOrThrow(ParseGenerationConfig(checkpoint->generation_text(), files.config), directory, kFetchAgain);
  files.tensors = std::move(checkpoint);
  return files;
}

ModelFiles OpenSynthetic(const std::string& path) {
  const auto text = ReadSmallFile(path, kMaxConfig);
  if (!text) {
    throw StartupError(StrCat(path, ": does not exist; --model ", kSyntheticPrefix,
                              "FILE needs a config.json with an object ", kSyntheticKey));
  }
  const char* help = "; tools/synthetic/real_shape.json is a good one";
  ModelFiles files;
  files.synthetic = true;
  files.config = ValueOrThrow(ParseModelConfig(*text), path, help);
  files.generation = ValueOrThrow(ParseGenerationConfig("", files.config), path, help);
  const SyntheticSettings settings = ValueOrThrow(ParseSyntheticSettings(*text), path, help);
  files.tensors = std::make_unique<SyntheticSource>(files.config, settings, path, *text);
  return files;
}

}  // namespace

ModelFiles OpenModel(const std::string& model) {
  if (IsSynthetic(model)) return OpenSynthetic(model.substr(sizeof kSyntheticPrefix - 1));
  return OpenCheckpoint(model);
}

}  // namespace hearth
