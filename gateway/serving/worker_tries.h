#pragma once

#include <string>
#include <vector>

#include "gateway/serving/services.h"

namespace hearth::serving {

// The workers that one request goes to, one after the other until one has taken it.
class WorkerTries {
 public:
  // Begins with the session's worker.
  WorkerTries(const Services& services, std::string request_id, std::string session);

  engine::EngineClient& client() const { return services_.workers.client(worker_); }
  // After a failure of this worker: goes on to one that has not been tried. False when none is left.
  bool Next();
  // What a failed call to this worker means to the client: kCancelled only when the client has left, since a worker too
  // ends calls with it (it goes down, or gave up on a reader), which is kUnavailable.
  Status Failure(Status status, bool client_left) const;
  // Has the worker asked for its state at once.
  void Hint() const { services_.workers.Hint(worker_); }

 private:
  const Services& services_;
  const std::string request_id_;
  const std::string session_;
  size_t worker_;
  std::vector<size_t> tried_;
};

// What a request is told whose answer was not whole when draining ran out of time.
Status DrainIsOver();

}  // namespace hearth::serving
