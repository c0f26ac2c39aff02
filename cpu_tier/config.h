#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/config/option_table.h"
#include "common/config/problems.h"
#include "cpu_tier/kernel_choice.h"

namespace hearth {

struct CpuTierConfig {
  std::string grpc_listen = "127.0.0.1:30002";
  std::string metrics_host = "127.0.0.1";
  uint16_t metrics_port = 30102;
  std::string cpus = "auto";
  std::optional<int64_t> threads;
  std::string isa = "auto";
  std::string kernel = "auto";
  std::string log_level = "info";

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    // Its one client shares memory with it, so the two run on one machine and need no TLS between them.
    visit(OptionSpec{.flag = "--grpc-listen",
                     .help = "address of the gRPC service, HOST:PORT or unix:PATH; it has no TLS and is for the worker "
                             "on this machine alone"},
          grpc_listen);
    visit(OptionSpec{.flag = "--metrics-host", .help = "address that /metrics listens on"}, metrics_host);
    visit(OptionSpec{.flag = "--metrics-port", .help = "port of /metrics; 0 takes a free one"}, metrics_port);
    visit(OptionSpec{.flag = "--ct-cpus",
                     .env = {"GLM53_CT_CPUS"},
                     .help = "logical CPUs to compute on, as in 2-9,12; auto: one of each physical core but the "
                             "machine's first two, at least one"},
          cpus);
    visit(OptionSpec{.flag = "--ct-threads",
                     .env = {"GLM53_CT_THREADS"},
                     .help = "threads that compute, 1 to 1024; auto: one for each of the CPUs"},
          threads);
    visit(OptionSpec{.flag = "--isa",
                     .help = "instruction set of the kernels; auto takes the best, ref is plain loops for bisecting",
                     .allowed = {"auto", "avx512", "avx2", "ref"}},
          isa);
    visit(OptionSpec{.flag = "--kernel",
                     .help = "arithmetic of the experts: fp32, int16 activations, or auto: int16 for a worker on a "
                             "GPU, fp32 for one on the host, which computes the same bits itself; int16:NAME "
                             "forces one of the instruction set's variants instead of the quickest",
                     .allowed = KernelWords()},
          kernel);
    visit(OptionSpec{.flag = "--log-level",
                     .help = "least level that is logged",
                     .allowed = {"debug", "info", "warning", "error"}},
          log_level);
  }
  void Validate(Problems& problems) const;
};

}  // namespace hearth
