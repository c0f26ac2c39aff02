#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/stop_signal.h"
#include "common/metrics/http_exporter.h"
#include "common/rpc/rpc_server.h"
#include "gpu_worker/config.h"
#include "gpu_worker/metrics.h"
#include "gpu_worker/model_engine.h"
#include "gpu_worker/popularity_file.h"
#include "gpu_worker/scheduler/decoder_engine.h"
#include "gpu_worker/scheduler/step_loop.h"
#include "gpu_worker/service/engine_service.h"
#include "gpu_worker/service/engine_state.h"
#include "gpu_worker/settings.h"

namespace hearth {

// Thrown out of the constructor when the process is asked to stop while the model is being loaded.
struct StoppedWhileLoading {};

// Owns all parts of the process, in the order in which they come up. The gRPC server is there first, so that loading
// can be watched.
class Worker {
 public:
  // All parts up and ready, or StartupError. `flags`: effective options for GetModelInfo.
  Worker(const WorkerConfig& config, std::vector<std::pair<std::string, std::string>> flags, StopSignal& stop);
  ~Worker();

  // Serves until the signal, then lets running requests finish within the drain time.
  void Serve();

 private:
  void WarmUp();
  void WarmStart();
  EngineParts MakeParts();
  void OfferConstraints(RequestLimits& limits) const;
  WorkerGauges ReadGauges() const;

  const WorkerConfig config_;
  const std::vector<std::pair<std::string, std::string>> flags_;
  StopSignal& stop_;
  const ChosenKernels kernels_;
  const std::string home_dir_;
  WorkerMetrics metrics_;
  EngineState state_;
  EngineService service_;
  HttpExporter exporter_;
  std::unique_ptr<RpcServer> server_;

  std::unique_ptr<ModelEngine> model_;
  std::unique_ptr<PopularityFile> popularity_;
  std::unique_ptr<DecoderEngine> engine_;
  std::unique_ptr<StepLoop> loop_;
};

}  // namespace hearth
