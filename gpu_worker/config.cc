#include "gpu_worker/config.h"

#include "common/base/listen_socket.h"
#include "common/config/gib_range.h"

namespace hearth {
namespace {

template <typename T>
bool Unset(const std::optional<T>& value, bool good) {
  return !value || good;
}

}  // namespace

void WorkerConfig::Validate(Problems& p) const {
  p.Require(!model.empty(), "--model", model, "the directory of a checkpoint");
  p.Require(grpc_tls_cert.empty() == grpc_tls_key.empty(), "--grpc-tls-key", grpc_tls_key,
            "to be given together with --grpc-tls-cert");
  p.Require(grpc_tls_client_ca.empty() || !grpc_tls_cert.empty(), "--grpc-tls-client-ca", grpc_tls_client_ca,
            "to be given together with --grpc-tls-cert");
  p.Require(grpc_tls_cert.empty() || !grpc_listen.starts_with("unix:"), "--grpc-tls-cert", grpc_tls_cert,
            "none with a unix: address in --grpc-listen: TLS is for TCP, and permissions guard a Unix socket");
  p.Require(cpu_tier.empty() || IsConnectAddress(cpu_tier), "--cpu-tier", cpu_tier,
            "HOST:PORT, unix:PATH or dns:///NAME:PORT, or empty for none");
  p.Require(!cpu_tier.empty() || cpu_lane != "always", "--cpu-lane", cpu_lane, "auto or never without a --cpu-tier");
  p.Require(force_source != "cpu" || (!cpu_tier.empty() && cpu_lane != "never"), "--force-source", force_source,
            "another source without a --cpu-tier or with --cpu-lane never");
  p.Require(Unset(context_tokens, context_tokens >= 256 && context_tokens <= (1 << 24)), "--context-tokens",
            context_tokens, "256 to 16777216, or auto");
  p.Require(Unset(sequences, sequences >= 1 && sequences <= 1024), "--max-sequences", sequences, "1 to 1024, or auto");
  p.Require(max_batch_size >= 1, "--max-batch-size", max_batch_size, "1 or more");
  p.Require(Unset(chunk_size, chunk_size >= 64 && chunk_size <= 32768 && chunk_size.value_or(0) % 64 == 0),
            "--chunk-size", chunk_size, "a multiple of 64 from 64 to 32768, or auto");
  p.Require(max_queue >= 1 && max_queue <= 65536, "--max-q-size", max_queue, "1 to 65536");
  p.Require(Unset(max_slots, max_slots >= 1), "--ec-max-slots", max_slots, "1 or more, or auto");
  p.Require(Unset(look_ahead, look_ahead >= 0 && look_ahead <= 16), "--look-ahead", look_ahead, "0 to 16, or auto");
  RequireGib(p, "--vram-gb", vram_gb.value_or(0));
  RequireGib(p, "--ec-reserve-gb", reserve_gb.value_or(0));
  RequireGib(p, "--ec-elastic-gb", elastic_gb);
  RequireGib(p, "--ec-stage-gb", stage_gb);
  RequireGib(p, "--paused-gb", paused_gb);
  RequireGib(p, "--assume-ram-gb", assume_ram_gb.value_or(0));
  const auto cost = [&](const char* flag, const std::optional<double>& ms) {
    p.Require(Unset(ms, ms >= 0 && ms <= 10'000), flag, ms, "milliseconds from 0 to 10000, or auto");
  };
  cost("--ct-a", ct_a);
  cost("--ct-b", ct_b);
  cost("--ct-tzc", ct_tzc);
  p.Require(write_timeout > std::chrono::milliseconds(0), "--write-timeout", write_timeout, "a time above 0");
}

}  // namespace hearth
