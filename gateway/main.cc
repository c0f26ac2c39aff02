#include "common/base/process.h"
#include "common/config/load_config.h"
#include "common/log/log.h"
#include "gateway/config.h"
#include "gateway/gateway.h"

int main(int argc, char** argv) {
  return hearth::RunProcess("hearth-gateway", [&](hearth::StopSignal& stop) {
    hearth::SetLogProcess("gateway");
    const auto config = hearth::LoadConfig<hearth::GatewayConfig>(argc, argv);
    hearth::SetLogLevel(*hearth::ParseLogLevel(config.log_level));
    for (const auto& [name, value] : hearth::DescribeConfig(config)) {
      hearth::Log(hearth::LogLevel::kInfo, "config", {{"option", name}, {"value", value}});
    }
    hearth::Gateway gateway(config);
    gateway.Serve(stop);
    hearth::FlushLog();
  });
}
