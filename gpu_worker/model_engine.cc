#include "gpu_worker/model_engine.h"

#include <algorithm>
#include <sstream>
#include <thread>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/ipc/shared_file.h"
#include "gpu_worker/loader/expert_home_builder.h"
#include "gpu_worker/loader/expert_plan.h"
#include "gpu_worker/loader/weights_builder.h"
#include "gpu_worker/memory/working_memory.h"
#include "gpu_worker/model/step_buffers.h"
#include "gpu_worker/synthetic/model_files.h"

namespace hearth {
namespace {

void LogLines(const std::string& event, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) Log(LogLevel::kInfo, event, {{"text", line}});
}

std::vector<MlpView> Geometries(const std::vector<ExpertPlan>& experts) {
  const auto geometry = [](const MatrixPlan& plan) { return plan.Geometry(plan.kind); };
  std::vector<MlpView> out;
  for (const ExpertPlan& e : experts) {
    out.push_back({.gate = geometry(e.gate), .up = geometry(e.up), .down = geometry(e.down)});
  }
  return out;
}

}  // namespace

Status WaitForHome(const std::string& path, std::chrono::milliseconds most) {
  Result<SharedFile> lock = SharedFile::OpenExisting(path + ".lock", SharedFile::Access::kReadOnly);
  if (!lock.ok()) return Status::Ok();  // nobody to wait for; what else is wrong is said when the home is opened
  if (lock->TryLockFor(SharedFile::LockKind::kShared, Deadline::After(most)).ok()) return Status::Ok();
  return DeadlineExceeded("expert home: ", path, ".lock: another worker held the lock for ", most.count() / 1000.0,
                          " s; stop it, or choose another --home-dir");
}

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
  LoadOptions options;
  options.home.home_dir = home_dir;
  SumMemory(files, options.home, progress);
  options.assume_ram_bytes = GibToBytes(config_.assume_ram_gb.value_or(0));
  options.log = [](LogLevel level, const std::string& text) { Log(level, "load", {{"text", text}}); };
  options.progress = progress;
  loaded_ = std::make_unique<LoadedModel>(LoadModel(files.config, files.generation, *files.tensors, options));
  device_ = std::make_unique<DeviceModel>(*loaded_, backend());
  if (!kernels_.on_host()) loaded_->weights.storage.clear();
}

void ModelEngine::SumMemory(const ModelFiles& files, const HomeOptions& home_options, const Progress& progress) {
  const ModelConfig& model = files.config;
  uint64_t dense_bytes = 0, working_bytes = 0;
  HomePlan plan_of_home;
  {
    MatrixPlanner planner(*files.tensors);
    const PlannedWeights dense = PlanWeights(model, planner);
    const std::vector<ExpertPlan> experts = PlanExperts(model, planner);
    plan_of_home = PlanHome(model, experts, files.tensors->Fingerprint());
    dense_bytes = DeviceModel::WeightBytes(model, dense.weights);
    working_bytes = WorkingBytes(model, dense.weights, Geometries(experts),
                                 {.chunk_size = settings_.chunk_size,
                                  .max_batch_rows = settings_.max_batch_rows,
                                  .pool_tokens = settings_.pool_tokens,
                                  .exl3_terms = config_.act == "f16x2" ? 2 : 1});
  }
  const HomeHeader& home = plan_of_home.header;
  const Status released = WaitForHome(HomePath(home_options.home_dir, plan_of_home), home_options.lock_wait);
  if (!released.ok()) throw StartupError(released.message());

  const int64_t page_tokens = SequenceStore::PageTokens(model);
  const int64_t pages = (settings_.pool_tokens + page_tokens - 1) / page_tokens;
  // Registered memory costs the device an entry per 4 KiB page.
  constexpr uint64_t kRegisteredPerByte = 512;
  const bool on_host = kernels_.on_host();
  const VramUse vram = SplitVram(MeasureVramTaken(kernels_));
  const MemoryNeeds needs{.context_bytes = on_host ? 0 : vram.own_bytes + home.total_bytes / kRegisteredPerByte,
                          .dense_bytes = dense_bytes + (on_host ? 0 : home.records_offset - home.scales_offset),
                          .kv_bytes = static_cast<uint64_t>(pages) * SequenceStore::PageBytes(model, settings_.kv_type),
                          .kv_tokens = pages * page_tokens,
                          .state_bytes_per_slot = SequenceStore::StateBytesPerSlot(model),
                          .sequence_slots = settings_.sequences,
                          .record_bytes = home.record_stride,
                          .experts = int64_t{model.moe_layer_count()} * model.n_routed_experts,
                          .least_slots = model.num_experts_per_tok,
                          .ahead = LookAheadBuffers(config_, kernels_),
                          .working_bytes = on_host ? 0 : working_bytes};
  MemoryLimits limits = DeviceLimits(config_, kernels_);
  limits.others_bytes = vram.others_bytes;
  MemoryWait wait;
  wait.sleep = [&](std::chrono::milliseconds step) {
    if (progress) progress(0, 0);  // may throw to stop the loading
    std::this_thread::sleep_for(step);
  };
  wait.others_bytes = [&] { return SplitVram(MeasureVramTaken(kernels_)).others_bytes; };
  wait.say = [](const std::string& text) { Log(LogLevel::kWarning, "memory", {{"text", text}}); };
  Result<MemoryPlan> plan = PlanMemoryPatiently(needs, limits, wait);
  if (!plan.ok()) throw StartupError(StrCat(config_.model, ": ", plan.status().message()));
  memory_ = *std::move(plan);
  LogLines("memory", memory_.Table());
  if (memory_.reserve_bytes != limits.reserve_bytes) {
    Log(LogLevel::kWarning, "option",
        {{"text", StrCat("--ec-reserve-gb ", FormatBytes(limits.reserve_bytes), " raised to ",
                         FormatBytes(memory_.reserve_bytes), ", what prefill and decode take after start")}});
  }
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
