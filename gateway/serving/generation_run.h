#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/deadline.h"
#include "gateway/serving/services.h"
#include "gateway/serving/worker_tries.h"

namespace hearth::serving {

// What one generation of a run became.
struct ChoiceEnd {
  bool by_length = false;
  bool by_stop_string = false;
  std::optional<int32_t> stop_id;
  std::optional<engine::Usage> usage;  // absent after a stop string: the worker was told to stop
  std::optional<engine::Usage> seen;   // then: sampling asked for, and the times and tokens that were seen here
  size_t tokens = 0;                   // received
};

// What a run reports to whoever turns tokens into an answer. Called on the thread of Run().
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // False ends this choice here: a stop string is complete.
  virtual bool OnToken(size_t choice, const engine::Token& token) = 0;
  virtual void OnEnd(size_t choice, const ChoiceEnd& end) = 0;
  // Called at least every 20 ms while the run goes on.
  virtual void KeepAlive() {}
  // False once what is written no longer arrives; `timed_out` then says whether the client stayed without reading.
  virtual bool CanWrite() { return true; }
  virtual bool write_timed_out() { return false; }
};

// The generations of one request, from the worker's queue to their end. Counts them in the metrics. Destroying it
// cancels what still runs.
class GenerationRun {
 public:
  // Ends with kDeadlineExceeded at `deadline`.
  GenerationRun(const Services& services, const http::HttpRequest& request, std::vector<engine::GenerateSpec> specs,
                Deadline deadline);
  ~GenerationRun();
  GenerationRun(const GenerationRun&) = delete;
  GenerationRun& operator=(const GenerationRun&) = delete;

  // Returns when the worker has taken every generation into its queue, or with the failure that ends them all.
  Status WaitAccepted();
  // Reports tokens until every choice has ended. kCancelled when the client left.
  Status Run(RunObserver& observer);

  double seconds_to_first_token() const { return seconds_to_first_token_; }
  double seconds() const;
  size_t completion_tokens() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kQueued, kPrefill, kDecode, kEnded };
  struct Choice {
    Phase phase = Phase::kQueued;
    bool accepted = false;
    size_t tokens = 0;
    uint64_t seed = 0;
    Clock::time_point first_token, last_token;
  };

  // Starts every generation at the present worker.
  void StartStreams();
  std::optional<engine::Event> NextEvent();
  bool ClientLeft();
  // Ends every choice with what WorkerTries::Failure() made of the worker's status.
  Status Fail(const Status& status);
  Status CancelledByClient(bool not_reading);
  void SetPhase(Choice& choice, Phase phase);
  void OnTokens(const engine::Event& event, const engine::Tokens& tokens, RunObserver& observer);
  void EndChoice(size_t index, const ChoiceEnd& end, RunObserver& observer);
  void NoteToken(Choice& choice);
  engine::Usage Seen(size_t index) const;

  const Services& services_;
  const std::string request_id_;
  const std::function<bool()> client_left_, drain_over_;
  const std::vector<engine::GenerateSpec> specs_;
  const Deadline deadline_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_look_ = start_;
  double seconds_to_first_token_ = -1;
  const size_t prompt_tokens_;  // over all choices
  std::vector<Choice> choices_;
  std::deque<engine::Event> early_;  // came before the last Accepted
  WorkerTries workers_;
  std::unique_ptr<engine::GenerationStreams> streams_;
};

}  // namespace hearth::serving
