#include "common/base/process.h"
#include "common/config/load_config.h"
#include "common/log/log.h"
#include "gpu_worker/config.h"
#include "gpu_worker/worker.h"

int main(int argc, char** argv) {
  return hearth::RunProcess("gpu_worker", [&](hearth::StopSignal& stop) {
    const auto config = hearth::LoadConfig<hearth::WorkerConfig>(argc, argv);
    hearth::SetLogProcess("gpu_worker");
    hearth::SetLogLevel(*hearth::ParseLogLevel(config.log_level));
    auto flags = hearth::DescribeConfig(config);
    for (const auto& [name, value] : flags) {
      hearth::Log(hearth::LogLevel::kInfo, "option", {{"name", name}, {"value", value}});
    }
    try {
      hearth::Worker worker(config, std::move(flags), stop);
      worker.Serve();
    } catch (const hearth::StoppedWhileLoading&) {
      hearth::Log(hearth::LogLevel::kInfo, "stopped", {{"while", "loading"}});
    }
    hearth::FlushLog();
  });
}
