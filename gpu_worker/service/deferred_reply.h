#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <mutex>

#include "common/base/deadline.h"

namespace hearth {

// A unary call that is answered later: when its handle is called, or shortly before its deadline, whichever comes
// first. The answer is formed then, once. Owns itself.
class DeferredReply final : public grpc::ServerUnaryReactor {
 public:
  DeferredReply(Deadline deadline, std::function<grpc::Status()> answer);

  // Safe to call at any time, from any thread, also after the call has ended.
  std::function<void()> Handle();
  // Ends the call with this status unless it has ended.
  void FinishWith(const grpc::Status& status);

  void OnCancel() override;
  void OnDone() override;

 private:
  struct Link {
    std::mutex mutex;
    DeferredReply* reply = nullptr;  // null once answered
  };
  static void Reply(const std::shared_ptr<Link>& link, const grpc::Status* status);

  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
  const std::function<grpc::Status()> answer_;
  grpc::Alarm alarm_;
};

}  // namespace hearth
