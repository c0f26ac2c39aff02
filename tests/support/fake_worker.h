#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/worker_client/engine_types.h"

namespace hearth::test {

// What the fake worker does with a generation.
struct Script {
  std::vector<std::vector<int32_t>> chunks;  // token ids, one message each
  std::chrono::milliseconds before_first{0};
  std::chrono::milliseconds between{0};
  bool by_length = false;
  int32_t stop_id = -1;      // reported when not by_length
  bool hang_at_end = false;  // goes on until cancelled
  uint32_t queue_position = 0;
  Status refuse;              // instead of Accepted
  Status break_after_chunks;  // instead of Finished
};

// An Engine server in this process. It answers every Generate by the script that the callback gives for it and scores
// with made-up numbers: in row r, the k-th best id is (ids[r] + 1 + k) % vocab_size with log-probability -0.5 - k.
class FakeWorker {
 public:
  using Director = std::function<Script(const engine::GenerateSpec&)>;

  // Listens on a free port of 127.0.0.1, or on `address` when given.
  FakeWorker(Director director, const std::string& model_dir, const std::string& address = "127.0.0.1:0");
  ~FakeWorker();
  FakeWorker(const FakeWorker&) = delete;
  FakeWorker& operator=(const FakeWorker&) = delete;

  std::string address() const;
  void SetState(engine::WorkerState state, double progress = 1);
  void SetDegraded(bool degraded, const std::string& reason);
  void SetMaxModelLen(uint32_t tokens);
  // The next so many questions for the model's info find no answer before the client gives up.
  void IgnoreInfoQuestions(int count);
  int ignored_questions() const;  // how many of them are still to come
  int info_answers() const;
  // From now on scoring goes on without end behind its first rows.
  void HangScores();
  // From now on a scoring waits so long before its first row.
  void DelayScores(std::chrono::milliseconds before_first);
  // From now on scorings are refused.
  void RefuseScores(Status refuse);
  // From now on questions for the stats find no answer before the client gives up.
  void HangStats();
  // Generations whose client has gone before their end.
  int cancelled() const;
  int running() const;
  std::vector<engine::GenerateSpec> seen() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::test
