// How gRPC orders its threads, told to the thread sanitizer: Debian's gRPC and Abseil are not instrumented, so it would
// miss every hand-over inside them and report what our code does on both sides. These functions take the place of the
// libraries' own and add what those guarantee: an unlock happens before the next lock of the same mutex, the start of
// an operation before its completion, and every other reaction before OnDone. For builds under that sanitizer only.
#include <absl/synchronization/mutex.h>
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/support/server_callback.h>
#include <sanitizer/tsan_interface.h>

#include "common/base/check.h"

namespace {

// The library's own function.
template <typename Function>
Function* Original(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  HEARTH_CHECK(found != nullptr, name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const original = Original<void(Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
  original(this);
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  static auto* const original = Original<bool(Mutex*)>("_ZN4absl7debian35Mutex7TryLockEv");
  if (!original(this)) return false;
  __tsan_acquire(this);
  return true;
}

void Mutex::Unlock() {
  static auto* const original = Original<void(Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
  __tsan_release(this);
  original(this);
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const original = Original<void(CondVar*, Mutex*)>("_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  original(this, mutex);
  __tsan_acquire(mutex);
}

// WaitWithTimeout() ends here, too.
bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const original =
      Original<bool(CondVar*, Mutex*, Time)>("_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool timed_out = original(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

ABSL_NAMESPACE_END
}  // namespace absl

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag, void* reserved) {
  static auto* const original = Original<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  __tsan_release(tag);
  return original(call, ops, count, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  static auto* const original = Original<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  const grpc_event event = original(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline, void* reserved) {
  static auto* const original = Original<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  const grpc_event event = original(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

}  // extern "C"

namespace grpc::internal {

// A call counts down to OnCancel and to OnDone, partly in our code, where it is seen, and partly in the library.
// Whoever gets to the end has acquired what the others released.
void ServerCallbackCall::ScheduleOnDone(bool inlined) {
  static auto* const original =
      Original<void(ServerCallbackCall*, bool)>("_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  __tsan_acquire(&callbacks_outstanding_);
  original(this, inlined);
}

void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  // The library counts down once more when the reaction has returned.
  struct Reaction final : ServerReactor {
    Reaction(ServerReactor* of, std::atomic_int* count) : reactor(of), callbacks_outstanding(count) {}
    void OnCancel() override {
      reactor->OnCancel();
      __tsan_release(callbacks_outstanding);
      delete this;
    }
    void OnDone() override {}
    bool InternalInlineable() override { return reactor->InternalInlineable(); }
    ServerReactor* const reactor;
    std::atomic_int* const callbacks_outstanding;
  };
  static auto* const original = Original<void(ServerCallbackCall*, ServerReactor*)>(
      "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  __tsan_acquire(&on_cancel_conditions_remaining_);
  original(this, new Reaction(reactor, &callbacks_outstanding_));
}

}  // namespace grpc::internal
