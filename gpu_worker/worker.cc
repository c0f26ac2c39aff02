#include "gpu_worker/worker.h"

#include <cmath>
#include <filesystem>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/base/version.h"
#include "gpu_worker/expert_report.h"
#include "gpu_worker/memory/out_of_memory.h"
#include "gpu_worker/mode_advice.h"

namespace hearth {
namespace {

constexpr std::chrono::seconds kShutdownTime{2};  // for answers on their way when everything has ended
constexpr std::chrono::minutes kRecordEvery{10};  // what a killed worker has learnt since then is lost

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
  server_ = std::make_unique<RpcServer>(
      RpcServer::Options{
          .listen = config_.grpc_listen,
          .listen_option = "--grpc-listen",
          .tls = {.cert = config_.grpc_tls_cert, .key = config_.grpc_tls_key, .client_ca = config_.grpc_tls_client_ca}},
      std::vector<grpc::Service*>{&service_});
  Log(LogLevel::kInfo, "device",
      {{"backend", kernels_.name}, {"card", kernels_.device}, {"mode", config_.mode}, {"home_dir", home_dir_}});
  if (!kernels_.no_cuda.empty()) {
    Log(LogLevel::kWarning, "no_gpu", {{"text", StrCat("computing on the CPU, slowly: ", kernels_.no_cuda)}});
  }
  LogModeAdvice(config_, kernels_);
  model_ = std::make_unique<ModelEngine>(config_, kernels_, home_dir_, [this](uint64_t done, uint64_t total) {
    state_.Progress(done, total);
    if (stop_.requested()) throw StoppedWhileLoading();
  });
  state_.Loaded(model_->loaded().home.adopted(), model_->loaded().seconds);
  engine_ = std::make_unique<DecoderEngine>(model_->decoder(), model_->store(), model_->model(), model_->limits(),
                                            [this] { return PicksOf(model_->experts().stats()); });
  WarmUp();
  WarmStart();
  EndOnOutOfMemory();
  StepLoop::Options options;
  options.queue_capacity = static_cast<size_t>(config_.max_queue);
  options.scheduler.write_timeout = config_.write_timeout;
  options.scheduler.paused_bytes_max = GibToBytes(config_.paused_gb);
  loop_ = std::make_unique<StepLoop>(*engine_, metrics_, std::move(options));
  state_.OnDraining([this] { server_->SetServing(false); });
  state_.Ready(MakeParts());
  metrics_.ReadFrom([this] { return ReadGauges(); });
  server_->SetServing(true);
  if (state_.state() == v1::WORKER_STATE_DRAINING) server_->SetServing(false);  // a Drain came between the two
  Log(LogLevel::kInfo, "ready",
      {{"address", config_.grpc_listen},
       {"model", config_.model},
       {"context", model_->settings().context},
       {"sequences", model_->settings().sequences},
       {"seconds", model_->loaded().seconds}});
}

// One short chunk and one decode step: buffers get their size, pages are touched, and a model that computes nonsense is
// found before anybody asks.
void Worker::WarmUp() {
  const std::vector<int32_t> tokens(8, 0);
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

void Worker::WarmStart() {
  popularity_ = std::make_unique<PopularityFile>(config_.popularity, config_.model, model_->synthetic(),
                                                 model_->home().layers(), model_->home().experts());
  const Popularity& earlier = popularity_->earlier();
  model_->experts().WarmStart(earlier);
  if (earlier.tokens <= 0) return;
  const LaneSnapshot stats = model_->experts().stats();
  Log(LogLevel::kInfo, "warm_start",
      {{"file", popularity_->path()},
       {"tokens", earlier.tokens},
       {"slots_used", stats.slots_used},
       {"slots", stats.slots}});
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
  parts.write_timeout = config_.write_timeout;
  const ModelConfig& model = model_->model();
  const Settings& settings = model_->settings();
  const LoadedModel& loaded = model_->loaded();
  parts.limits = {.vocab_size = model.vocab_size, .context = settings.context, .defaults = loaded.generation};
  OfferConstraints(parts.limits);
  v1::ModelInfo& info = parts.info;
  info.set_model_dir(model_->synthetic() ? config_.model
                                         : std::filesystem::absolute(config_.model).lexically_normal().string());
  info.set_fingerprint(loaded.fingerprint);
  info.set_vocab_size(static_cast<uint32_t>(model.vocab_size));
  info.set_max_model_len(static_cast<uint32_t>(settings.context));
  for (int32_t id : loaded.generation.eos_ids) info.add_eos_ids(id);
  info.set_default_temperature(loaded.generation.temperature);
  info.set_default_top_p(loaded.generation.top_p);
  info.set_mode(config_.mode);
  info.set_backend(kernels_.name);
  info.set_max_running(static_cast<uint32_t>(settings.sequences));
  info.set_max_queue(static_cast<uint32_t>(config_.max_queue));
  info.set_kv_pool_tokens(static_cast<uint32_t>(model_->store().total_tokens()));
  info.set_chunk_size(static_cast<uint32_t>(settings.chunk_size));
  info.set_kv_type(settings.kv_type == kernels::KvType::kF16 ? "f16" : "f32");
  info.set_version(Version());
  auto& flags = *info.mutable_flags();
  for (const auto& [name, value] : flags_) flags[name] = value;
  flags["device"] = kernels_.on_host() ? "host" : "cuda";
  flags["backend"] = kernels_.name;
  flags["home-dir"] = home_dir_;
  flags["context-tokens"] = std::to_string(settings.pool_tokens);
  flags["max-sequences"] = std::to_string(settings.sequences);
  flags["max-batch-size"] = std::to_string(settings.max_batch_rows);
  flags["chunk-size"] = std::to_string(settings.chunk_size);
  flags["kv-type"] = info.kv_type();
  flags["ec-max-slots"] = std::to_string(model_->memory().expert_slots);
  if (model_->synthetic()) flags["weights"] = "synthetic: random numbers, answers are meaningless";
  parts.add_expert_stats = [this](v1::EngineStats& stats) {
    AddExpertStats(model_->experts().stats(), stats);
    if (CpuTierClient* tier = model_->tier()) AddTierState(tier->state(), stats);
  };
  parts.degraded = [this] { return model_->tier() != nullptr ? model_->tier()->state().reason : std::string(); };
  parts.deterministic = [this] { return config_.exact() || model_->tier() == nullptr || config_.cpu_lane == "never"; };
  parts.verify = [this](uint32_t samples, SlotCheck& check) { return model_->experts().Verify(samples, check); };
  return parts;
}

WorkerGauges Worker::ReadGauges() const {
  WorkerGauges gauges;
  gauges.loop = loop_->stats();
  gauges.lanes = model_->experts().stats();
  gauges.load_ratio = state_.load().ratio();
  gauges.cpu_tier_wanted = UsesCpuTier(config_);
  gauges.cpu_tier_up = model_->lane().up();
  gauges.ready = state_.state() == v1::WORKER_STATE_READY;
  return gauges;
}

void Worker::Serve() {
  while (!stop_.WaitFor(kRecordEvery)) popularity_->Save(model_->experts().popularity());
  Log(LogLevel::kInfo, "draining", {{"requests", loop_->stats().unfinished}, {"timeout", config_.drain_timeout}});
  state_.Draining();
  loop_->StartDraining(Unavailable("the worker is draining and takes no new requests"));
  // What is computed is not yet read: the streams have the same time to end.
  const Deadline deadline = Deadline::After(config_.drain_timeout);
  const bool finished = loop_->WaitIdle(deadline) && service_.streams().WaitNone(deadline);
  if (!finished) {
    Log(LogLevel::kWarning, "cut",
        {{"requests", loop_->stats().unfinished}, {"streams", static_cast<int64_t>(service_.streams().size())}});
  }
  loop_->Stop();
  popularity_->Save(model_->experts().popularity());
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
