#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/expert_link/link_view.h"
#include "common/ipc/shared_file.h"
#include "hearth/v1/cpu_tier.grpc.pb.h"

namespace grpc {
class Server;
}  // namespace grpc

namespace hearth::testing {

// A cpu_tier that attaches to whatever it is asked to and then misbehaves.
enum class Lie {
  kBeatsButEndsNothing,  // the result flag never comes
  kSilentHeart,          // serves, but its beat stands still
  kForeignNumbers,       // ends jobs that nobody published
  kRefusesEverything,    // ends every job at once, with an outcome that does not exist
};

class LyingDaemon final : public v1::CpuTier::Service {
 public:
  LyingDaemon(const std::string& address, Lie lie);
  ~LyingDaemon() override;

  grpc::Status Attach(grpc::ServerContext*, const v1::AttachRequest* request, v1::AttachResponse* response) override;
  grpc::Status Detach(grpc::ServerContext*, const v1::DetachRequest*, v1::DetachResponse*) override {
    return grpc::Status::OK;
  }
  int attachments() const { return attachments_.load(); }

 private:
  void Live(const SharedFile& file, const LinkView& link) const;

  const Lie lie_;
  std::atomic<int> attachments_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace hearth::testing
