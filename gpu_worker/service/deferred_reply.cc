#include "gpu_worker/service/deferred_reply.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hearth {
namespace {

// The answer has to reach the client before its own clock runs out.
constexpr std::chrono::milliseconds kMargin{50};
constexpr std::chrono::hours kLongest{24};

}  // namespace

DeferredReply::DeferredReply(Deadline deadline, std::function<grpc::Status()> answer) : answer_(std::move(answer)) {
  link_->reply = this;
  const auto left = std::min<Deadline::Clock::duration>(deadline.Left(), kLongest) - kMargin;
  const auto when =
      std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
  alarm_.Set(when, [link = link_](bool expired) {
    if (expired) Reply(link, nullptr);
  });
}

std::function<void()> DeferredReply::Handle() {
  return [link = link_] { Reply(link, nullptr); };
}

void DeferredReply::FinishWith(const grpc::Status& status) { Reply(link_, &status); }

void DeferredReply::OnCancel() {
  const grpc::Status status(grpc::StatusCode::CANCELLED, "the client has left");
  Reply(link_, &status);
}

void DeferredReply::OnDone() { delete this; }

void DeferredReply::Reply(const std::shared_ptr<Link>& link, const grpc::Status* status) {
  std::lock_guard lock(link->mutex);
  DeferredReply* reply = std::exchange(link->reply, nullptr);
  if (reply == nullptr) return;
  reply->alarm_.Cancel();
  reply->Finish(status != nullptr ? *status : reply->answer_());
}

}  // namespace hearth
