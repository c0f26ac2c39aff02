#include "gpu_worker/loader/load_model.h"

#include <chrono>
#include <cstdio>

#include "common/base/startup_error.h"
#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/host_memory.h"
#include "gpu_worker/loader/load_progress.h"
#include "gpu_worker/loader/tensor_names.h"
#include "gpu_worker/loader/weights_builder.h"

namespace hearth {
namespace {

void Say(const LoadOptions& options, LogLevel level, const std::string& text) {
  if (options.log) options.log(level, text);
}

void WarnAboutUnused(const MatrixPlanner& planner, const ModelConfig& config, const LoadOptions& options) {
  size_t count = 0;
  std::string first;
  for (const std::string& name : planner.Unused()) {
    if (IsSkippedTensor(name, config.num_hidden_layers)) continue;
    if (++count <= 3) first += (first.empty() ? "" : ", ") + name;
  }
  if (count == 0) return;
  Say(options, LogLevel::kWarning,
      StrCat(planner.source().Place(), ": ", count, " tensors are not used: ", first, count > 3 ? ", .." : ""));
}

void CheckMemory(uint64_t weights, uint64_t home, const LoadOptions& options) {
  const std::optional<uint64_t> available = options.assume_ram_bytes > 0 ? options.assume_ram_bytes : AvailableMemory();
  if (!available) return;
  if (std::string problem = MemoryProblem(weights, home, *available); !problem.empty()) throw StartupError(problem);
}

template <typename T>
T ValueOrThrow(Result<T> result, const std::string& directory) {
  if (!result.ok()) throw StartupError(directory + "/" + result.status().message() + kFetchAgain);
  return *std::move(result);
}

}  // namespace

LoadedModel LoadModel(const ModelConfig& config, const GenerationConfig& generation, const TensorSource& source,
                      const LoadOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  MatrixPlanner planner(source);
  PlannedWeights weights = PlanWeights(config, planner);
  const std::vector<ExpertPlan> experts = PlanExperts(config, planner);
  const HomePlan home_plan = PlanHome(config, experts, source.Fingerprint());
  WarnAboutUnused(planner, config, options);

  const uint64_t total = weights.bytes + ExpertBytes(experts);
  LoadProgress progress(total, options.progress, [&](const std::string& text) { Say(options, LogLevel::kInfo, text); });
  const auto add_bytes = [&](uint64_t bytes) { progress.Add(bytes); };
  HomeOptions home_options = options.home;
  home_options.log = options.log;
  home_options.add_bytes = add_bytes;
  // The home comes last: it is the only thing that would outlive a failure. Whether there is room is asked first.
  CheckRoomForHome(home_plan, home_options);
  CheckMemory(weights.memory, HomeBytesToCome(home_plan, home_options), options);
  ModelWeights filled = FillWeights(std::move(weights), add_bytes);
  ExpertHome home = OpenExpertHome(source, experts, home_plan, home_options);
  progress.Finish();

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  char line[96];
  std::snprintf(line, sizeof line, "loaded in %.1f s (%.3f GB, expert home %s)", seconds,
                static_cast<double>(total) / 1e9, home.adopted() ? "adopted" : "created");
  Say(options, LogLevel::kInfo, line);
  const std::string fingerprint = home.fingerprint();
  return LoadedModel{config, generation, std::move(filled), std::move(home), fingerprint, seconds};
}

LoadedModel LoadModel(const std::string& directory, const LoadOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Checkpoint checkpoint(directory);
  const ModelConfig config = ValueOrThrow(ParseModelConfig(checkpoint.config_text()), directory);
  const GenerationConfig generation =
      ValueOrThrow(ParseGenerationConfig(checkpoint.generation_text(), config), directory);
  LoadedModel model = LoadModel(config, generation, checkpoint, options);
  model.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return model;
}

}  // namespace hearth
