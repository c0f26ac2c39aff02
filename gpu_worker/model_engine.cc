#include "gpu_worker/model_engine.h"

#include <algorithm>
#include <sstream>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "gpu_worker/loader/expert_plan.h"
#include "gpu_worker/loader/weights_builder.h"
#include "gpu_worker/model/step_buffers.h"
#include "gpu_worker/synthetic/model_files.h"

namespace hearth {
namespace {

void LogLines(const std::string& event, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) Log(LogLevel::kInfo, event, {{"text", line}});
}

}  // namespace

ModelEngine::ModelEngine(const WorkerConfig& config, const ChosenKernels& kernels, const std::string& home_dir,
                         const Progress& progress)
    : config_(config), kernels_(kernels) {
  Load(home_dir, progress);
  store_ = std::make_unique<SequenceStore>(model(),
                                           SequenceStore::Limits{.slots = static_cast<int>(settings_.sequences),
                                                                 .pool_tokens = settings_.pool_tokens,
                                                                 .kv_type = settings_.kv_type},
                                           backend());
  StartTier(home_dir);
  RestartExperts(executor_options());
}

ModelEngine::~ModelEngine() = default;

void ModelEngine::RestartExperts(const ExecutorOptions& options) {
  decoder_.reset();
  experts_.reset();  // its memory is needed for the next one
  experts_ = std::make_unique<LaneExecutor>(home(), backend(), options, &lane_);
  decoder_ = std::make_unique<Decoder>(model(), device_->weights(), backend(), *experts_, *store_, limits());
}

void ModelEngine::Load(const std::string& home_dir, const Progress& progress) {
  const ModelFiles files = OpenModel(config_.model);
  synthetic_ = files.synthetic;
  if (synthetic_) {
    Log(LogLevel::kWarning, "synthetic",
        {{"text", "the weights are random numbers of the shape asked for: every answer is meaningless"}});
  }
  settings_ = Settle(config_, files.config, kernels_);
  for (const std::string& remark : settings_.remarks) Log(LogLevel::kWarning, "option", {{"text", remark}});
  {
    MatrixPlanner planner(*files.tensors);
    const uint64_t dense_bytes = DeviceModel::WeightBytes(files.config, PlanWeights(files.config, planner).weights);
    const HomePlan home = PlanHome(files.config, PlanExperts(files.config, planner), files.tensors->Fingerprint());
    SumMemory(files.config, dense_bytes, home.header);
  }
  LoadOptions options;
  options.home.home_dir = home_dir;
  options.assume_ram_bytes = GibToBytes(config_.assume_ram_gb.value_or(0));
  options.log = [](LogLevel level, const std::string& text) { Log(level, "load", {{"text", text}}); };
  options.progress = progress;
  loaded_ = std::make_unique<LoadedModel>(LoadModel(files.config, files.generation, *files.tensors, options));
  device_ = std::make_unique<DeviceModel>(*loaded_, backend());
  if (!kernels_.on_host()) loaded_->weights.storage.clear();
}

void ModelEngine::SumMemory(const ModelConfig& model, uint64_t dense_bytes, const HomeHeader& home) {
  const int64_t page_tokens = SequenceStore::PageTokens(model);
  const int64_t pages = (settings_.pool_tokens + page_tokens - 1) / page_tokens;
  // Registered memory costs the device an entry per 4 KiB page.
  constexpr uint64_t kRegisteredPerByte = 512;
  const bool on_host = kernels_.on_host();
  const MemoryNeeds needs{.context_bytes = on_host ? 0 : kernels_.vram_taken + home.total_bytes / kRegisteredPerByte,
                          .dense_bytes = dense_bytes + (on_host ? 0 : home.records_offset - home.scales_offset),
                          .kv_bytes = static_cast<uint64_t>(pages) * SequenceStore::PageBytes(model, settings_.kv_type),
                          .kv_tokens = pages * page_tokens,
                          .state_bytes_per_slot = SequenceStore::StateBytesPerSlot(model),
                          .sequence_slots = settings_.sequences,
                          .record_bytes = home.record_stride,
                          .experts = int64_t{model.moe_layer_count()} * model.n_routed_experts,
                          .least_slots = model.num_experts_per_tok,
                          .ahead = LookAheadBuffers(config_, kernels_)};
  Result<MemoryPlan> plan = PlanMemory(needs, DeviceLimits(config_, kernels_));
  if (!plan.ok()) throw StartupError(StrCat(config_.model, ": ", plan.status().message()));
  memory_ = *std::move(plan);
  LogLines("memory", memory_.Table());
  if (on_host) return;
  const uint64_t lent = std::min(GibToBytes(config_.elastic_gb), memory_.arena_bytes);
  const int64_t wanted = settings_.chunk_size;
  settings_.chunk_size =
      ChunkThatFits(wanted, lent, [&](int64_t rows) { return StepBuffers::ActivationBytes(model, rows); });
  if (settings_.chunk_size != wanted) {
    Log(LogLevel::kWarning, "option",
        {{"text", StrCat("-chunk_size ", wanted, " lowered to ", settings_.chunk_size, ": the expert cache can lend ",
                         FormatBytes(lent), " to prefill; raise GLM53_VRAM_GB or GLM53_EC_ELASTIC_GB")}});
  }
}

// Attaching goes on beside everything else: the daemon may come later, or never.
void ModelEngine::StartTier(const std::string& home_dir) {
  if (!UsesCpuTier(config_)) return;
  CpuTierClientOptions options;
  options.address = config_.cpu_tier;
  options.link_dir = home_dir;
  options.home_path = loaded_->home.path();
  options.fingerprint = home().fingerprint();
  options.memory = backend().memory;
  options.int16_welcome = !kernels_.on_host();
  options.needs_fp32_bits = config_.exact();
  options.layers = home().layers();
  options.experts = home().experts();
  options.geometry = LinkGeometryFor(home().hidden(), home().experts(), static_cast<uint32_t>(settings_.max_batch_rows),
                                     static_cast<uint32_t>(model().num_experts_per_tok));
  tier_ = std::make_unique<CpuTierClient>(options, lane_);
}

}  // namespace hearth
