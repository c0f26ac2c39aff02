#include "bench/engine/router_zipf.h"

#include <unordered_map>

#include "common/base/check.h"
#include "common/base/startup_error.h"
#include "gpu_worker/loader/small_file.h"
#include "gpu_worker/loader/tensor_names.h"
#include "gpu_worker/synthetic/model_files.h"
#include "gpu_worker/synthetic/synthetic_tensors.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxConfig = 16'000'000;

SyntheticSettings SettingsOf(const std::string& model) {
  if (!IsSynthetic(model)) throw StartupError(StrCat(model, ": only the routers of a synthetic model can be changed"));
  const auto text = ReadSmallFile(model.substr(sizeof kSyntheticPrefix - 1), kMaxConfig);
  if (!text) throw StartupError(StrCat(model, ": does not exist"));
  Result<SyntheticSettings> settings = ParseSyntheticSettings(*text);
  if (!settings.ok()) throw StartupError(StrCat(model, ": ", settings.status().message()));
  return *std::move(settings);
}

}  // namespace

double RouterZipfOf(const std::string& model) { return SettingsOf(model).router_zipf; }

void SetRouterZipf(ModelEngine& engine, const std::string& model, double zipf) {
  SyntheticSettings settings = SettingsOf(model);
  settings.router_zipf = zipf;
  std::unordered_map<std::string, std::vector<float>> biases;
  for (SyntheticTensor& tensor : ListSyntheticTensors(engine.model(), settings)) {
    if (tensor.law.kind == ValueLaw::Kind::kVector) biases[tensor.info.name] = std::move(tensor.values);
  }
  const kernels::Backend& backend = engine.backend();
  const std::vector<LayerWeights>& layers = engine.weights().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].router_bias == nullptr) continue;
    const std::string name = LayerPrefix(static_cast<int>(i)) + "mlp.gate.e_score_correction_bias";
    const auto bias = biases.find(name);
    HEARTH_CHECK(bias != biases.end(), name);
    // Constant to the engine; here nothing runs that reads it.
    backend.memory->upload(backend.stream, const_cast<float*>(layers[i].router_bias), bias->second.data(),
                           bias->second.size() * sizeof(float));
    backend.memory->synchronize(backend.stream);
  }
}

}  // namespace hearth
