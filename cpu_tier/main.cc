#include <chrono>

#include "common/base/process.h"
#include "common/base/startup_error.h"
#include "common/base/version.h"
#include "common/config/load_config.h"
#include "common/log/log.h"
#include "common/metrics/http_exporter.h"
#include "common/rpc/rpc_server.h"
#include "cpu_tier/config.h"
#include "cpu_tier/cpu_choice.h"
#include "cpu_tier/cpu_tier_service.h"
#include "cpu_tier/daemon.h"
#include "cpu_tier/kernel_choice.h"
#include "cpu_tier/tier_metrics.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

void Serve(const CpuTierConfig& config, StopSignal& stop) {
  SetLogLevel(ParseLogLevel(config.log_level).value_or(LogLevel::kInfo));
  for (const auto& [name, value] : DescribeConfig(config)) {
    Log(LogLevel::kInfo, "option", {{"name", name}, {"value", value}});
  }
  Daemon daemon(ChooseKernels(config.isa, config.kernel),
                ChooseCpus(OfferOfThisMachine(), config.cpus, config.threads));
  if (!daemon.self_test().passed) {
    throw StartupError("self-test " + daemon.self_test().Summary() + "; another --isa may work");
  }
  Metrics metrics;
  AddTierMetrics(metrics, daemon);
  CpuTierService service(daemon);
  RpcServer server({.listen = config.grpc_listen, .listen_option = "--grpc-listen"}, {&service});
  HttpExporter exporter(config.metrics_host, config.metrics_port, "--metrics-port", [&] { return metrics.Expose(); });
  server.SetServing(true);
  Log(LogLevel::kInfo, "ready",
      {{"version", Version()},
       {"grpc", config.grpc_listen},
       {"metrics_port", exporter.port()},
       {"isa", daemon.isa()},
       {"threads", daemon.cpus().size()},
       {"selftest", daemon.self_test().Summary()},
       {"worst_relative_error", daemon.self_test().worst_relative_error}});
  while (!stop.WaitFor(500ms)) daemon.Reap();
  server.Shutdown(Deadline::After(500ms));
  FlushLog();
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  hearth::SetLogProcess("cpu_tier");
  return hearth::RunProcess("cpu_tier", [&](hearth::StopSignal& stop) {
    hearth::Serve(hearth::LoadConfig<hearth::CpuTierConfig>(argc, argv), stop);
  });
}
