#pragma once

#include "common/base/stop_signal.h"
#include "gateway/config.h"
#include "gateway/http/http_server.h"
#include "gateway/http/router.h"
#include "gateway/metrics.h"
#include "gateway/serving/services.h"
#include "gateway/worker_client/engine_client.h"
#include "gateway/worker_client/worker_monitor.h"

namespace hearth {

// The gateway process: text in, text out, over HTTP. Owns all parts. Comes up without a worker and says so in /health.
class Gateway {
 public:
  // Everything is up and answers, or StartupError.
  explicit Gateway(const GatewayConfig& config);

  // Serves until stopped, then drains: returns once the last request has been answered or its time is over.
  void Serve(const StopSignal& stop);
  void Drain();
  int port() const { return server_.port(); }
  GatewayMetrics& metrics() { return metrics_; }

 private:
  http::HttpResponse Answer(const http::HttpRequest& request);
  void AddRoutes();
  void OnWorkerView(const engine::WorkerView& view);

  const GatewayConfig config_;
  GatewayMetrics metrics_;
  serving::ModelTextHolder text_;
  engine::EngineClient client_;
  engine::WorkerMonitor monitor_;  // uses client_, text_ and metrics_
  serving::Services services_;     // what handlers see of the parts above
  http::Router router_;
  http::HttpServer server_;  // last: its threads use everything above
};

}  // namespace hearth
