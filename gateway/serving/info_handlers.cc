#include "gateway/serving/info_handlers.h"

#include <ctime>
#include <future>

#include "common/base/version.h"
#include "gateway/http/error_response.h"
#include "gateway/serving/receipts.h"
#include "gateway/worker_client/stats_sum.h"

namespace hearth::serving {
namespace {

// For all workers together: whoever polls gives up a little later.
constexpr std::chrono::milliseconds kStatsTime{2000};

OrderedJson LoadJson(const engine::LoadProgress& load) {
  return {{"ratio", load.ratio},
          {"bytes_done", load.bytes_done},
          {"bytes_total", load.bytes_total},
          {"seconds", load.seconds},
          {"adopted", load.adopted}};
}

OrderedJson LanesJson(const engine::LaneCounts& lanes, bool with_late) {
  OrderedJson json = {{"vram", lanes.vram}, {"pcie", lanes.pcie}, {"cpu", lanes.cpu}, {"staged", lanes.staged}};
  if (with_late) json["late"] = lanes.late;
  return json;
}

OrderedJson CacheJson(const engine::EngineStats& stats) {
  const auto& cache = stats.cache;
  const uint64_t asked = cache.hits + cache.misses;
  return {{"slots", cache.slots},
          {"used", cache.used},
          {"lent", cache.lent},
          {"hits", cache.hits},
          {"misses", cache.misses},
          {"admissions", cache.admissions},
          {"evictions", cache.evictions},
          {"fetched_ahead", cache.fetched_ahead},
          {"used_ahead", cache.used_ahead},
          {"hit_rate", asked == 0 ? 0.0 : static_cast<double>(cache.hits) / static_cast<double>(asked)}};
}

OrderedJson CpuTierJson(const engine::EngineStats& stats) {
  const auto& cpu = stats.cpu_tier;
  return {{"up", cpu.up},
          {"jobs", cpu.jobs},
          {"experts", cpu.experts},
          {"timeouts", cpu.timeouts},
          {"wait_ms_per_job", cpu.wait_ms_per_job},
          {"isa", cpu.isa},
          {"threads", cpu.threads},
          {"selftest", cpu.selftest}};
}

OrderedJson WorkersJson(const Services& services) {
  OrderedJson list = OrderedJson::array();
  const engine::WorkerViews views = services.workers.views();
  const std::vector<bool> serving = engine::ServingWorkers(views);
  for (size_t i = 0; i < views.size(); ++i) {
    const engine::WorkerView& view = *views[i];
    OrderedJson worker = {{"worker", services.workers.targets()[i]}, {"state", engine::StateWord(view)}};
    worker["serving"] = static_cast<bool>(serving[i]);
    if (view.ready() && !serving[i]) worker["problem"] = "another model than the first worker's";
    if (view.ready() && view.info.degraded) worker["degraded_reason"] = view.info.degraded_reason;
    if (view.answers && view.info.state == engine::WorkerState::kLoading) worker["load"] = LoadJson(view.info.load);
    if (!view.answers) worker["problem"] = view.problem;
    list.push_back(std::move(worker));
  }
  return list;
}

OrderedJson ModelJson(const std::string& name, const ReadyModel& model) {
  static const std::time_t started = std::time(nullptr);
  return {{"id", name},
          {"object", "model"},
          {"created", started},
          {"owned_by", "hearth"},
          {"max_model_len", model.info().max_model_len}};
}

OrderedJson StatsJson(const engine::EngineStats& stats) {
  OrderedJson body;
  body["requests"] = stats.requests_total;
  body["requests_running"] = stats.requests_running;
  body["requests_waiting"] = stats.requests_waiting;
  body["prompt_tokens"] = stats.prompt_tokens_total;
  body["completion_tokens"] = stats.completion_tokens_total;
  body["expert_cache"] = CacheJson(stats);
  body["cpu_tier"] = CpuTierJson(stats);
  body["lanes"] = {{"picks", LanesJson(stats.lane_picks, true)}, {"bytes", LanesJson(stats.lane_bytes, false)}};
  body["load"] = LoadJson(stats.load);
  body["decode_steps"] = stats.decode_steps;
  body["kv_tokens"] = {{"used", stats.kv_tokens_used}, {"total", stats.kv_tokens_total}};
  body["sequences_paused"] = stats.sequences_paused;
  return body;
}

}  // namespace

http::HttpResponse HandleHealth(const Services& services, const http::HttpRequest&) {
  const auto view = services.workers.view();
  const engine::ModelInfo& info = view->info;
  const std::string state = StateWord(services);
  const bool ok = state == "ready";
  OrderedJson body = {{"ok", ok}, {"state", state}};
  if (ok) {
    body["degraded"] = info.degraded;
    if (info.degraded) body["degraded_reason"] = info.degraded_reason;
    body["model"] = ServedNames(services).front();
    body["mode"] = info.mode;
    body["backend"] = info.backend;
    body["max_model_len"] = info.max_model_len;
  } else if (state == "loading") {
    body["load"] = LoadJson(info.load);
  } else if (state == "draining" && view->ready()) {
    body["problem"] = "the gateway is draining: it takes no new requests";
  } else if (const Result<ReadyModel> model = RequireReady(services); !model.ok()) {
    body["problem"] = model.status().message();
  }
  if (services.workers.size() > 1) body["workers"] = WorkersJson(services);
  body["version"] = Version();
  http::HttpResponse response{.status = ok ? 200 : 503, .body = WireText(body)};
  if (!ok) response.headers.emplace_back("Retry-After", "2");
  return response;
}

http::HttpResponse HandleLive(const Services&, const http::HttpRequest&) {
  return {.body = WireText({{"ok", true}, {"version", Version()}})};
}

http::HttpResponse HandleModels(const Services& services, const http::HttpRequest& request) {
  const Result<ReadyModel> model = RequireReady(services);
  if (!model.ok()) return Failure(services, request, model.status());
  OrderedJson list = OrderedJson::array();
  for (const std::string& name : ServedNames(services)) list.push_back(ModelJson(name, *model));
  return {.body = WireText({{"object", "list"}, {"data", std::move(list)}})};
}

http::HttpResponse HandleModel(const Services& services, const http::HttpRequest& request) {
  const Result<ReadyModel> model = RequireReady(services);
  if (!model.ok()) return Failure(services, request, model.status());
  const std::string name = request.path.substr(std::string_view("/v1/models/").size());
  if (Status status = CheckModelName(services, name); !status.ok()) return Failure(services, request, status);
  return {.body = WireText(ModelJson(name, *model))};
}

http::HttpResponse HandleServerInfo(const Services& services, const http::HttpRequest& request) {
  const Result<ReadyModel> model = RequireReady(services);
  if (!model.ok()) return Failure(services, request, model.status());
  const engine::ModelInfo& info = model->info();
  OrderedJson args = {{"max_running_requests", info.max_running}, {"max_total_num_tokens", info.kv_pool_tokens},
                      {"chunked_prefill_size", info.chunk_size},  {"kv_cache_dtype", info.kv_type},
                      {"context_length", info.max_model_len},     {"max_queue_size", info.max_queue}};
  for (const auto& [flag, value] : info.flags) args[flag] = value;
  OrderedJson body = {{"model", ServedNames(services).front()},
                      {"context_length", info.max_model_len},
                      {"load_seconds", info.load.seconds},
                      {"adopted_home", info.load.adopted},
                      {"mode", info.mode},
                      {"backend", info.backend},
                      {"fingerprint", info.fingerprint},
                      {"vocab_size", info.vocab_size},
                      {"version", Version()},
                      {"worker_version", info.version},
                      {"degraded", info.degraded}};
  body["server_args"] = std::move(args);
  if (services.workers.size() > 1) body["workers"] = WorkersJson(services);
  return {.body = WireText(body)};
}

http::HttpResponse HandleStats(const Services& services, const http::HttpRequest& request) {
  const engine::WorkerViews views = services.workers.views();
  // Asked at once, so that one that does not answer leaves the others their time.
  std::vector<std::pair<size_t, std::future<Result<engine::EngineStats>>>> asked;
  for (size_t i = 0; i < views.size(); ++i) {
    // A worker that is known to be down would only cost its time. The only one is asked all the same.
    if (views.size() > 1 && !views[i]->answers) continue;
    asked.emplace_back(
        i, std::async(std::launch::async, [&services, i] { return services.workers.client(i).GetStats(kStatsTime); }));
  }
  std::vector<engine::EngineStats> answers;
  std::string problem;
  OrderedJson list = OrderedJson::array();
  for (auto& [i, answer] : asked) {
    Result<engine::EngineStats> stats = answer.get();
    if (!stats.ok()) {
      problem = stats.status().message();
      continue;
    }
    OrderedJson one = {{"worker", services.workers.targets()[i]}};
    one.update(StatsJson(*stats));
    list.push_back(std::move(one));
    answers.push_back(*std::move(stats));
  }
  if (answers.empty()) {
    if (problem.empty()) problem = views.front()->problem;
    return Failure(services, request, Unavailable("the worker does not answer: ", problem));
  }
  OrderedJson body = StatsJson(engine::SumStats(answers));
  if (views.size() > 1) body["workers"] = std::move(list);
  return {.body = WireText(body)};
}

http::HttpResponse HandleMetrics(const Services& services, const http::HttpRequest&) {
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = services.metrics.all.Expose()};
}

}  // namespace hearth::serving
