#include "gpu_worker/worker.h"

#include <cmath>
#include <filesystem>
#include <sstream>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/base/version.h"
#include "gpu_worker/expert_report.h"
#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/device_model.h"
#include "gpu_worker/loader/expert_plan.h"
#include "gpu_worker/loader/weights_builder.h"

namespace hearth {
namespace {

constexpr std::chrono::seconds kShutdownTime{2};  // for answers on their way when everything has ended

template <typename T>
T ValueOrThrow(Result<T> result, const std::string& place, const char* help = "") {
  if (!result.ok()) throw StartupError(StrCat(place, ": ", result.status().message(), help));
  return *std::move(result);
}

void LogLines(const std::string& event, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) Log(LogLevel::kInfo, event, {{"text", line}});
}

}  // namespace

Worker::Worker(const WorkerConfig& config, std::vector<std::pair<std::string, std::string>> flags, StopSignal& stop)
    : config_(config),
      flags_(std::move(flags)),
      stop_(stop),
      kernels_(ChooseKernels(config)),
      home_dir_(ChooseHomeDir(config)),
      metrics_(config.mode),
      service_(state_),
      exporter_(config.metrics_host, config.metrics_port, "--metrics-port", [this] { return metrics_.Expose(); }) {
  metrics_.ReadFrom([this] {
    WorkerGauges gauges;
    gauges.load_ratio = state_.load().ratio();
    return gauges;
  });
  server_ =
      std::make_unique<RpcServer>(RpcServer::Options{.listen = config_.grpc_listen, .listen_option = "--grpc-listen"},
                                  std::vector<grpc::Service*>{&service_});
  Log(LogLevel::kInfo, "device",
      {{"backend", kernels_.name}, {"card", kernels_.device}, {"mode", config_.mode}, {"home_dir", home_dir_}});
  if (!kernels_.no_cuda.empty()) {
    Log(LogLevel::kWarning, "no_gpu", {{"text", StrCat("computing on the CPU, slowly: ", kernels_.no_cuda)}});
  }
  Load();

  store_ = std::make_unique<SequenceStore>(model_->config,
                                           SequenceStore::Limits{.slots = static_cast<int>(settings_.sequences),
                                                                 .pool_tokens = settings_.pool_tokens,
                                                                 .kv_type = settings_.kv_type},
                                           *kernels_.backend);
  StartExperts();
  const Decoder::Limits limits{.chunk_size = settings_.chunk_size, .max_batch_rows = settings_.max_batch_rows};
  decoder_ =
      std::make_unique<Decoder>(model_->config, device_->weights(), *kernels_.backend, *experts_, *store_, limits);
  engine_ = std::make_unique<DecoderEngine>(*decoder_, *store_, model_->config, limits,
                                            [this] { return PicksOf(experts_->stats()); });
  WarmUp();
  StepLoop::Options options;
  options.queue_capacity = static_cast<size_t>(config_.max_queue);
  options.scheduler.write_timeout = config_.write_timeout;
  options.scheduler.paused_bytes_max = GibToBytes(config_.paused_gb);
  loop_ = std::make_unique<StepLoop>(*engine_, metrics_, std::move(options));
  state_.Ready(MakeParts());
  metrics_.ReadFrom([this] { return ReadGauges(); });
  server_->SetServing(true);
  Log(LogLevel::kInfo, "ready",
      {{"address", config_.grpc_listen},
       {"model", config_.model},
       {"context", settings_.context},
       {"sequences", settings_.sequences},
       {"seconds", model_->seconds}});
}

void Worker::Load() {
  const Checkpoint checkpoint(config_.model);
  const ModelConfig model = ValueOrThrow(ParseModelConfig(checkpoint.config_text()), config_.model, kFetchAgain);
  const GenerationConfig generation =
      ValueOrThrow(ParseGenerationConfig(checkpoint.generation_text(), model), config_.model, kFetchAgain);
  settings_ = Settle(config_, model, kernels_);
  for (const std::string& remark : settings_.remarks) Log(LogLevel::kWarning, "option", {{"text", remark}});
  {
    MatrixPlanner planner(checkpoint);
    const uint64_t dense_bytes = DeviceModel::WeightBytes(model, PlanWeights(model, planner).weights);
    const HomePlan home = PlanHome(model, PlanExperts(model, planner), checkpoint.Fingerprint());
    SumMemory(model, dense_bytes, home.header);
  }
  LoadOptions options;
  options.home.home_dir = home_dir_;
  options.assume_ram_bytes = GibToBytes(config_.assume_ram_gb.value_or(0));
  options.log = [](LogLevel level, const std::string& text) { Log(level, "load", {{"text", text}}); };
  options.progress = [this](uint64_t done, uint64_t total) {
    state_.Progress(done, total);
    if (stop_.requested()) throw StoppedWhileLoading();
  };
  model_ = std::make_unique<LoadedModel>(LoadModel(model, generation, checkpoint, options));
  device_ = std::make_unique<DeviceModel>(*model_, *kernels_.backend);
  if (!kernels_.on_host()) model_->weights.storage.clear();
  state_.Loaded(model_->home.adopted(), model_->seconds);
}

void Worker::SumMemory(const ModelConfig& model, uint64_t dense_bytes, const HomeHeader& home) {
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
                          .least_slots = model.num_experts_per_tok};
  memory_ = ValueOrThrow(PlanMemory(needs, DeviceLimits(config_, kernels_)), config_.model);
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
void Worker::StartExperts() {
  const HomeView& home = device_->home();
  if (UsesCpuTier(config_)) {
    CpuTierClientOptions options;
    options.address = config_.cpu_tier;
    options.link_dir = home_dir_;
    options.home_path = model_->home.path();
    options.fingerprint = home.fingerprint();
    options.layers = home.layers();
    options.experts = home.experts();
    options.geometry = LinkGeometryFor(home.hidden(), home.experts(), static_cast<uint32_t>(settings_.max_batch_rows),
                                       static_cast<uint32_t>(model_->config.num_experts_per_tok));
    tier_ = std::make_unique<CpuTierClient>(options, lane_);
  }
  experts_ =
      std::make_unique<LaneExecutor>(home, *kernels_.backend, ExecutorSettings(config_, memory_, kernels_), &lane_);
}

// One short chunk and one decode step: buffers get their size, pages are touched, and a model that computes nonsense is
// found before anybody asks.
void Worker::WarmUp() {
  const std::vector<int32_t> tokens(8, 1);
  std::vector<float> logits(static_cast<size_t>(engine_->vocab_size()));
  const StepEngine::Slot slot = engine_->Open();
  HEARTH_CHECK(slot >= 0 && engine_->Reserve(slot, static_cast<int64_t>(tokens.size()) + 1), "an empty store has room");
  engine_->BeginChunk(slot, tokens);
  Status status;
  while (status.ok() && !engine_->chunk_done()) status = engine_->StepLayer([] { return false; });
  const StepEngine::Row row{slot, tokens.front()};
  if (status.ok()) status = engine_->Decode({&row, 1}, logits.data());
  if (!status.ok()) throw StartupError(StrCat(config_.model, ": warm-up failed: ", status.ToString()));
  engine_->Close(slot);
  if (!RowLogProbs(logits).finite()) {
    throw StartupError(StrCat(config_.model, ": warm-up gave logits that are not finite; the checkpoint is damaged"));
  }
}

// A model directory without a usable tokenizer.json still generates; only constraints need to know what ids stand for.
void Worker::OfferConstraints(RequestLimits& limits) const {
  Result<VocabularyBytes> vocabulary = VocabularyBytes::Read(config_.model, limits.vocab_size);
  if (vocabulary.ok()) {
    auto shared = std::make_shared<const ConstraintVocabulary>(*std::move(vocabulary));
    limits.constraints = std::make_shared<ConstraintCache>(std::move(shared));
  } else {
    limits.no_constraints = vocabulary.status().message();
    Log(LogLevel::kWarning, "no_constraints", {{"text", limits.no_constraints}});
  }
}

EngineParts Worker::MakeParts() {
  EngineParts parts;
  parts.loop = loop_.get();
  parts.limits = {
      .vocab_size = model_->config.vocab_size, .context = settings_.context, .defaults = model_->generation};
  OfferConstraints(parts.limits);
  v1::ModelInfo& info = parts.info;
  info.set_model_dir(std::filesystem::absolute(config_.model).lexically_normal().string());
  info.set_fingerprint(model_->fingerprint);
  info.set_vocab_size(static_cast<uint32_t>(model_->config.vocab_size));
  info.set_max_model_len(static_cast<uint32_t>(settings_.context));
  for (int32_t id : model_->generation.eos_ids) info.add_eos_ids(id);
  info.set_default_temperature(model_->generation.temperature);
  info.set_default_top_p(model_->generation.top_p);
  info.set_mode(config_.mode);
  info.set_backend(kernels_.name);
  info.set_max_running(static_cast<uint32_t>(settings_.sequences));
  info.set_max_queue(static_cast<uint32_t>(config_.max_queue));
  info.set_kv_pool_tokens(static_cast<uint32_t>(store_->total_tokens()));
  info.set_chunk_size(static_cast<uint32_t>(settings_.chunk_size));
  info.set_kv_type(settings_.kv_type == kernels::KvType::kF16 ? "f16" : "f32");
  info.set_version(Version());
  for (const auto& [name, value] : flags_) (*info.mutable_flags())[name] = value;
  (*info.mutable_flags())["context-tokens"] = std::to_string(settings_.pool_tokens);
  (*info.mutable_flags())["max-sequences"] = std::to_string(settings_.sequences);
  (*info.mutable_flags())["max-batch-size"] = std::to_string(settings_.max_batch_rows);
  (*info.mutable_flags())["home-dir"] = home_dir_;
  (*info.mutable_flags())["ec-max-slots"] = std::to_string(memory_.expert_slots);
  parts.add_expert_stats = [this](v1::EngineStats& stats) {
    AddExpertStats(experts_->stats(), stats);
    if (tier_ != nullptr) AddTierState(tier_->state(), stats);
  };
  parts.degraded = [this] { return tier_ != nullptr && !config_.exact() ? tier_->state().reason : std::string(); };
  parts.deterministic = [this] { return config_.exact() || tier_ == nullptr || config_.cpu_lane == "never"; };
  parts.verify = [this](uint32_t samples) {
    const ExpertCache::Comparison result = experts_->Verify(samples);
    return std::pair<uint32_t, uint32_t>(result.compared, result.different);
  };
  return parts;
}

WorkerGauges Worker::ReadGauges() const {
  WorkerGauges gauges;
  gauges.loop = loop_->stats();
  gauges.lanes = experts_->stats();
  gauges.load_ratio = state_.load().ratio();
  gauges.cpu_tier_up = lane_.up();
  gauges.ready = state_.state() == v1::WORKER_STATE_READY;
  return gauges;
}

void Worker::Serve() {
  while (!stop_.WaitFor(std::chrono::hours(1))) {
  }
  Log(LogLevel::kInfo, "draining", {{"requests", loop_->stats().unfinished}, {"timeout", config_.drain_timeout}});
  state_.Draining();
  server_->SetServing(false);
  loop_->StartDraining(Unavailable("the worker is draining and takes no new requests"));
  const bool finished = loop_->WaitIdle(Deadline::After(config_.drain_timeout));
  if (!finished) Log(LogLevel::kWarning, "cut", {{"requests", loop_->stats().unfinished}});
  loop_->Stop();
  server_->Shutdown(Deadline::After(kShutdownTime));
  Log(LogLevel::kInfo, "stopped");
}

Worker::~Worker() {
  metrics_.ReadFrom({});
  // Streams hold on to the loop until the server has ended them.
  if (loop_ != nullptr) loop_->Stop();
  if (server_ != nullptr) server_->Shutdown(Deadline::After(std::chrono::seconds(0)));
}

}  // namespace hearth
