#include "gateway/gateway.h"

#include <algorithm>

#include "common/base/listen_socket.h"
#include "common/base/startup_error.h"
#include "common/log/log.h"
#include "gateway/http/descriptor_limit.h"
#include "gateway/page/page.h"
#include "gateway/serving/chat_handler.h"
#include "gateway/serving/completion_handler.h"
#include "gateway/serving/info_handlers.h"
#include "gateway/sglang/generate_handler.h"

namespace hearth {
namespace {

http::ServerOptions ServerOptionsOf(const GatewayConfig& config, GatewayMetrics& metrics, const http::Router& router) {
  const uint64_t descriptors = http::RaiseDescriptorLimit();
  const uint32_t connections = http::ConnectionsWithin(descriptors, config.max_connections);
  if (connections < config.max_connections) {
    Log(LogLevel::kWarning, "option",
        {{"text", StrCat("--max-connections ", config.max_connections, " clamped to ", connections,
                         ": this process may open ", descriptors, " files; raise ulimit -n or LimitNOFILE")}});
  }
  http::ServerOptions options{.host = config.host, .port = config.port, .max_connections = connections};
  options.limits.header_timeout = config.header_timeout;
  options.limits.body_timeout = config.body_timeout;
  options.limits.write_timeout = config.write_timeout;
  options.limits.idle_timeout = config.idle_timeout;
  options.limits.body_bytes = config.max_body_bytes;
  options.inflight_bytes = config.max_inflight_bytes;
  options.access.api_keys = config.api_key;
  if (!config.api_key_file.empty()) {
    for (std::string& key : http::ReadApiKeyFile(config.api_key_file))
      options.access.api_keys.push_back(std::move(key));
  }
  options.on_refusal = [&metrics](int status) { metrics.CountError(status); };
  options.refuse_early = [&router](const http::HttpRequest& request) { return router.Refuse(request); };
  options.tls_cert = config.tls_cert;
  options.tls_key = config.tls_key;
  options.access.open_status = config.open_status;
  options.access.cors_origins = config.cors_origins;
  options.access.allowed_hosts = config.allowed_hosts;
  return options;
}

ClientTls WorkerTls(const GatewayConfig& config) {
  return {.ca = config.worker_tls_ca,
          .cert = config.worker_tls_cert,
          .key = config.worker_tls_key,
          .name = config.worker_tls_name};
}

std::string ListText(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : ", ") + one;
  return text;
}

bool IsStatusRoute(const std::string& path) {
  return path == "/health" || path == "/health/live" || path == "/metrics" || path == "/stats" ||
         path == "/server_info";
}

}  // namespace

Gateway::Gateway(const GatewayConfig& config)
    : config_(config),
      ready_(config.worker.size()),
      workers_(config.worker, WorkerTls(config),
               [this](size_t worker, const engine::WorkerView& view) { OnWorkerView(worker, view); }),
      services_{.workers = workers_,
                .text = text_,
                .metrics = metrics_,
                .served_names = config.served_name,
                .strict = config.strict,
                .request_timeout = config.request_timeout,
                .keep_alive = config.keep_alive,
                .draining = &draining_},
      server_(ServerOptionsOf(config, metrics_, router_),
              [this](const http::HttpRequest& request) { return Answer(request); }) {
  if (!config_.model_dir.empty()) {
    text_.LoadFrom(config_.model_dir);
    if (!text_.get()) throw StartupError(text_.problem());
  }
  AddRoutes();
  server_.Start();
}

http::HttpResponse Gateway::Answer(const http::HttpRequest& request) {
  http::HttpResponse response = router_.Route(request);
  // A client that left is counted as cancelled; /health tells a state, which is no error of its request.
  if (response.status >= 400 && response.status != 499 && request.path != "/health") {
    metrics_.CountError(response.status);
  }
  return response;
}

void Gateway::OnWorkerView(size_t worker, const engine::WorkerView& view) {
  const std::string& target = config_.worker[worker];
  metrics_.WorkerUp(target).Set(view.ready() ? 1 : 0);
  metrics_.LoadProgress(target).Set(view.ready() ? 1 : view.answers ? view.info.load.ratio : 0);
  ready_[worker] = view.ready();
  // The tokenizer comes from the first worker that is ready: others may know the same model by another folder.
  const bool first = std::find(ready_.begin(), ready_.end(), true) == ready_.begin() + static_cast<ptrdiff_t>(worker);
  if (config_.model_dir.empty() && view.ready() && first && !view.info.model_dir.empty()) {
    text_.LoadFrom(view.info.model_dir);
  }
}

void Gateway::AddRoutes() {
  using Function = http::HttpResponse (*)(const serving::Services&, const http::HttpRequest&);
  const auto add = [this](const char* method, const std::string& path, Function function) {
    router_.Add(method, path,
                [this, function](const http::HttpRequest& request) { return function(services_, request); });
  };
  router_.Add("GET", "/", page::HandlePage);
  add("GET", "/health", serving::HandleHealth);
  add("GET", "/health/live", serving::HandleLive);
  add("GET", "/v1/models", serving::HandleModels);
  add("GET", "/v1/models/*", serving::HandleModel);
  add("GET", "/server_info", serving::HandleServerInfo);
  add("GET", "/stats", serving::HandleStats);
  add("GET", "/metrics", serving::HandleMetrics);
  add("POST", "/v1/chat/completions", serving::HandleChat);
  add("POST", "/v1/completions", serving::HandleCompletion);
  add("POST", "/apply-template", serving::HandleApplyTemplate);
  add("POST", "/generate", sglang::HandleGenerate);
  add("POST", "/tokenize", sglang::HandleTokenize);
  add("POST", "/detokenize", sglang::HandleDetokenize);
}

void Gateway::Serve(const StopSignal& stop) {
  Log(LogLevel::kInfo, "serving",
      {{"url", (config_.tls_cert.empty() ? "http://" : "https://") + HostPort(config_.host, port())},
       {"worker", ListText(config_.worker)}});
  while (!stop.WaitFor(std::chrono::seconds(60))) {
  }
  Log(LogLevel::kInfo, "draining");
  Drain();
  Log(LogLevel::kInfo, "stopped");
}

void Gateway::Drain() {
  draining_ = true;
  server_.Drain(Deadline::After(config_.drain_timeout), IsStatusRoute);
}

}  // namespace hearth
