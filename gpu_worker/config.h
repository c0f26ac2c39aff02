#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/config/option_table.h"
#include "common/config/problems.h"
#include "common/log/log.h"

namespace hearth {

struct WorkerConfig {
  std::string model = "models/hearth-tiny";
  std::string mode = "fast";
  std::string device = "auto";
  std::string backend = "auto";
  std::string grpc_listen = "127.0.0.1:30001";
  std::string grpc_tls_cert, grpc_tls_key, grpc_tls_client_ca;
  std::string metrics_host = "127.0.0.1";
  uint16_t metrics_port = 30101;
  std::string home_dir;
  std::string cpu_tier = "127.0.0.1:30002";
  std::string cpu_lane = "auto";
  std::string force_source = "none";
  std::string popularity;

  std::optional<int64_t> context_tokens;
  std::optional<int64_t> sequences;
  int64_t max_batch_size = 8;
  std::optional<int64_t> chunk_size;
  int64_t max_queue = 256;
  std::string kv_type = "auto";
  std::string act = "f16";

  std::optional<double> vram_gb;
  std::optional<double> reserve_gb;
  double elastic_gb = 10;
  double stage_gb = 2.6;
  std::optional<int64_t> max_slots;
  std::optional<int64_t> look_ahead;
  double paused_gb = 4;
  std::optional<double> assume_ram_gb;
  std::optional<double> ct_a, ct_b, ct_tzc;

  std::chrono::milliseconds write_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds drain_timeout = std::chrono::seconds(15);
  std::string log_level = "info";
  std::string triton_pin;
  std::string ct_swz;

  bool exact() const { return mode == "exact"; }

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    VisitServing(visit);
    VisitSizes(visit);
    VisitExperts(visit);
  }
  void Validate(Problems& problems) const;

 private:
  template <typename Visitor>
  void VisitServing(Visitor&& visit) {
    visit(
        OptionSpec{
            .flag = "--model",
            .aliases = {"-m", "--model-dir"},
            .env = {"GLM53_MODEL_DIR"},
            .help =
                "directory of the checkpoint, or synthetic:FILE.json for random weights of a shape (tools/synthetic)"},
        model);
    visit(OptionSpec{.flag = "--mode",
                     .env = {"GLM53_MODE"},
                     .help = "exact: same bits always; fast: with the CPU tier",
                     .allowed = {"exact", "fast"}},
          mode);
    visit(OptionSpec{.flag = "--device", .help = "where the model runs", .allowed = {"auto", "host", "cuda"}}, device);
    visit(OptionSpec{.flag = "--backend",
                     .help = "kernels of the host device, refused for a GPU; ref is plain loops",
                     .allowed = {"auto", "avx2", "ref"}},
          backend);
    visit(OptionSpec{.flag = "--grpc-listen", .help = "address of the gRPC service, HOST:PORT or unix:PATH"},
          grpc_listen);
    visit(OptionSpec{.flag = "--grpc-tls-cert",
                     .help = "PEM file with certificate and chain: the gRPC service speaks TLS, on TCP only"},
          grpc_tls_cert);
    visit(OptionSpec{.flag = "--grpc-tls-key", .help = "PEM file with the key of --grpc-tls-cert"}, grpc_tls_key);
    visit(OptionSpec{.flag = "--grpc-tls-client-ca",
                     .help = "PEM file with the CA that must have signed a gRPC client's certificate; empty: clients "
                             "need none"},
          grpc_tls_client_ca);
    visit(OptionSpec{.flag = "--metrics-host", .help = "address that /metrics listens on"}, metrics_host);
    visit(OptionSpec{.flag = "--metrics-port", .help = "port of /metrics; 0 takes a free one"}, metrics_port);
    visit(OptionSpec{.flag = "--home-dir",
                     .help = "tmpfs folder of the expert home; empty: /run/hearth when it can be "
                             "written, else /dev/shm"},
          home_dir);
    visit(OptionSpec{.flag = "--cpu-tier", .help = "gRPC address of cpu_tier; empty: none"}, cpu_tier);
    visit(
        OptionSpec{.flag = "--write-timeout", .help = "a request whose client reads nothing for so long is cancelled"},
        write_timeout);
    visit(OptionSpec{.flag = "--drain-timeout", .help = "time that running requests get to finish after SIGTERM"},
          drain_timeout);
    visit(OptionSpec{.flag = "--log-level",
                     .help = "least level that is logged",
                     .allowed = {"debug", "info", "warning", "error"}},
          log_level);
  }
  template <typename Visitor>
  void VisitSizes(Visitor&& visit) {
    visit(OptionSpec{.flag = "--context-tokens",
                     .aliases = {"-cs"},
                     .help = "pool of KV tokens, and the longest context; auto: the smaller of 131072 and the model's"},
          context_tokens);
    visit(OptionSpec{.flag = "--max-sequences",
                     .aliases = {"-ambs"},
                     .help = "sequences admitted at once; auto: 4, or 64 when the model's state is small"},
          sequences);
    visit(OptionSpec{.flag = "--max-batch-size", .help = "most rows of one decode step"}, max_batch_size);
    visit(OptionSpec{.flag = "--chunk-size",
                     .aliases = {"-chunk_size"},
                     .help = "tokens of a prefill chunk, a multiple of 64; auto: 8192, on the host device 1024, so "
                             "that one layer never takes long there"},
          chunk_size);
    visit(OptionSpec{.flag = "--max-q-size", .help = "requests that may wait; more are refused"}, max_queue);
    visit(OptionSpec{.flag = "--kv-type",
                     .help = "how latents and pool keys are stored; auto is f32 on the host",
                     .allowed = {"auto", "f16", "f32"}},
          kv_type);
    visit(
        OptionSpec{.flag = "--act",
                   .help = "what prefill on a GPU rounds activations of EXL3 matrices to: fp16, or the sum of two such "
                           "numbers, for tests",
                   .allowed = {"f16", "f16x2"}},
        act);
    visit(OptionSpec{.flag = "--paused-gb",
                     .help = "GiB of host memory for sequences that are paused when the pool is "
                             "dry"},
          paused_gb);
    visit(OptionSpec{.flag = "--assume-ram-gb", .help = "GiB of RAM to count on; auto: what machine and cgroup have"},
          assume_ram_gb);
    visit(
        OptionSpec{
            .flag = "--vram-gb",
            .env = {"GLM53_VRAM_GB"},
            .help =
                "most GiB of device memory to use; on the host device an emulated card, auto: 24 or half of the RAM"},
        vram_gb);
  }
  template <typename Visitor>
  void VisitExperts(Visitor&& visit) {
    visit(OptionSpec{.flag = "--ec-reserve-gb",
                     .env = {"GLM53_EC_RESERVE_GB"},
                     .help = "GiB of device memory kept free: at least what prefill and decode take after start, more "
                             "for other programs; auto: 1.5, exact 1.0, on the host device 0"},
          reserve_gb);
    visit(OptionSpec{.flag = "--ec-elastic-gb",
                     .env = {"GLM53_EC_ELASTIC_GB"},
                     .help = "most GiB that the expert cache lends to prefill"},
          elastic_gb);
    visit(OptionSpec{.flag = "--ec-stage-gb",
                     .env = {"GLM53_EC_STAGE_GB"},
                     .help = "GiB of each of the two staging buffers, at most"},
          stage_gb);
    visit(OptionSpec{.flag = "--ec-max-slots",
                     .env = {"GLM53_EC_MAX_SLOTS"},
                     .help = "most slots of the expert cache; auto: as many as fit"},
          max_slots);
    visit(OptionSpec{.flag = "--look-ahead",
                     .help = "experts that decode fetches for the next layer, by its router's guess, while attention "
                             "leaves PCIe idle; auto: 2, on the host device 0, where nothing is fetched"},
          look_ahead);
    visit(OptionSpec{.flag = "--popularity",
                     .help = "file that records how often experts are picked and from which the expert cache is filled "
                             "at start; empty: hearth-popularity.json next to the model, none: neither"},
          popularity);
    visit(OptionSpec{.flag = "--cpu-lane",
                     .help = "forces (also in exact mode, for tests) or forbids the CPU lane",
                     .allowed = {"auto", "always", "never"}},
          cpu_lane);
    visit(OptionSpec{.flag = "--force-source",
                     .help = "takes every expert of a decode step from there, for tests",
                     .allowed = {"none", "hit", "pcie", "cpu", "random"}},
          force_source);
    visit(OptionSpec{.flag = "--ct-a",
                     .env = {"GLM53_CT_A"},
                     .help = "ms that a CPU job costs at least, as first assumed; the jobs correct it; auto: 0.05"},
          ct_a);
    visit(
        OptionSpec{.flag = "--ct-b",
                   .env = {"GLM53_CT_B"},
                   .help = "ms of one expert on the CPU, as first assumed; the jobs correct it; auto: half of what one "
                           "across PCIe is measured to take"},
        ct_b);
    visit(OptionSpec{.flag = "--ct-tzc",
                     .env = {"GLM53_CT_TZC"},
                     .help = "ms of one expert across PCIe, as first assumed; the steps correct it; auto: measured at "
                             "start"},
          ct_tzc);
    visit(OptionSpec{.flag = "--triton-pin", .env = {"GLM53_TRITON_PIN"}, .help = "accepted, has no effect"},
          triton_pin);
    visit(
        OptionSpec{.flag = "--ct-swz", .env = {"GLM53_CT_SWZ"}, .help = "accepted, has no effect: there is one layout"},
        ct_swz);
  }
};

}  // namespace hearth
