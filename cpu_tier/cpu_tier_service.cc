#include "cpu_tier/cpu_tier_service.h"

#include <unistd.h>

#include <chrono>

#include "common/expert_link/peer_watch.h"
#include "common/rpc/status_map.h"

namespace hearth {

grpc::Status CpuTierService::Attach(grpc::ServerContext* rpc, const v1::AttachRequest* request,
                                    v1::AttachResponse* response) {
  AttachRequestSpec spec;
  spec.home_path = request->home_path();
  spec.link_path = request->link_path();
  spec.fingerprint = request->fingerprint();
  spec.home_layout_version = request->home_layout_version();
  spec.link_version = request->link_version();
  spec.worker_instance = request->worker_instance();
  spec.worker_pid_namespace = request->pid_namespace();
  spec.int16_welcome = request->int16_welcome();
  spec.needs_fp32_bits = request->needs_fp32_bits();
  // The deadline is asked for as well: gRPC marks a call that has passed it as cancelled a moment later.
  const Daemon::Attached attached =
      daemon_.Attach(spec, [rpc] { return !rpc->IsCancelled() && std::chrono::system_clock::now() < rpc->deadline(); });
  if (attached.busy) return {grpc::StatusCode::ALREADY_EXISTS, attached.status.message()};
  if (!attached.status.ok()) return ToGrpc(attached.status);
  response->set_daemon_instance(daemon_.instance());
  response->set_pid(::getpid());
  response->set_pid_namespace(PidNamespace());
  response->set_isa(daemon_.kernel());
  response->set_threads(static_cast<uint32_t>(daemon_.cpus().size()));
  response->set_selftest(daemon_.self_test().Summary());
  return grpc::Status::OK;
}

grpc::Status CpuTierService::Detach(grpc::ServerContext*, const v1::DetachRequest* request, v1::DetachResponse*) {
  daemon_.Detach(request->worker_instance());
  return grpc::Status::OK;
}

grpc::Status CpuTierService::SelfTest(grpc::ServerContext*, const v1::SelfTestRequest*,
                                      v1::SelfTestResponse* response) {
  const SelfTestReport report = daemon_.RunSelfTest();
  response->set_passed(report.passed);
  response->set_worst_relative_error(report.worst_relative_error);
  response->set_detail(report.detail);
  return grpc::Status::OK;
}

grpc::Status CpuTierService::GetStats(grpc::ServerContext*, const v1::GetCpuTierStatsRequest*,
                                      v1::CpuTierStats* response) {
  const TierCounters& c = daemon_.counters();
  response->set_attached(daemon_.attached());
  response->set_jobs(c.jobs.load(std::memory_order_relaxed));
  response->set_experts(c.experts.load(std::memory_order_relaxed));
  response->set_rows(c.rows.load(std::memory_order_relaxed));
  response->set_busy_seconds(static_cast<double>(c.busy_ns.load(std::memory_order_relaxed)) * 1e-9);
  response->set_first_after_idle(c.first_after_idle.load(std::memory_order_relaxed));
  response->set_isa(daemon_.isa());
  response->set_threads(static_cast<uint32_t>(daemon_.cpus().size()));
  response->set_selftest(daemon_.self_test().Summary());
  response->set_kernel(daemon_.kernel());
  for (int cpu : daemon_.cpus()) response->add_cpus(cpu);
  return grpc::Status::OK;
}

}  // namespace hearth
