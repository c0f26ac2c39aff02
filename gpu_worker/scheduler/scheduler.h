#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu_worker/scheduler/loop_observer.h"
#include "gpu_worker/scheduler/request_queue.h"
#include "gpu_worker/scheduler/sequence.h"
#include "gpu_worker/scheduler/step_engine.h"

namespace hearth {

// Continuous batching over one engine: admits, prefills chunk by chunk and layer by layer, decodes in between, pauses
// and resumes when pages run short, ends what is cancelled, late or finished. Does one unit of work per call and never
// waits, so that one thread (StepLoop) or a test drives it. A request's outputs do not depend on its neighbours.
class Scheduler {
 public:
  using Time = Deadline::Clock::time_point;
  struct Options {
    std::chrono::nanoseconds decode_every = std::chrono::milliseconds(250);  // decode steps between prefill layers
    std::chrono::nanoseconds write_timeout = std::chrono::seconds(10);  // for a reader that stays but stops reading
    size_t paused_bytes_max = size_t{4} << 30;
    std::function<Time()> now = [] { return Deadline::Clock::now(); };
  };
  struct Counts {
    int64_t admitted = 0;  // with the paused ones
    int64_t paused = 0;
    int64_t kv_tokens_used = 0;
    uint64_t decode_steps = 0;
    uint64_t prompt_tokens = 0;      // prefilled
    uint64_t completion_tokens = 0;  // of generations
  };

  // Called once for every request that was taken off the queue, after its Outcome was put.
  using OnEnd = std::function<void(Request&)>;

  Scheduler(StepEngine& engine, RequestQueue& queue, LoopObserver& observer, Options options, OnEnd on_end);
  ~Scheduler();

  // One layer of prefill, a block of scored rows, or a decode step. False: nothing can be done before NextEvent() or a
  // change from outside (a request, a cancellation, a reader that made room).
  bool RunOnce();
  Time NextEvent() const;
  // Ends all admitted requests.
  void FailAll(const Status& why);
  Counts counts() const;

 private:
  // scheduler.cc
  void DropDead();
  void Admit();
  void ResumePaused();
  void AbandonChunk();
  void LetGoOfChunk(const Sequence& sequence);
  void End(Sequence& sequence, Outcome outcome);
  void Fail(Sequence& sequence, Status status);
  void Sweep();
  bool Stalled(const Sequence& sequence) const;
  double SecondsSince(Time then) const;
  // scheduler_prefill.cc
  Sequence* NextPrefill();
  void BeginChunk(Sequence& sequence);
  void PrefillUnit(Sequence& sequence);
  bool ScoreBlock(Sequence& sequence);
  void EndChunk(Sequence& sequence);
  // scheduler_decode.cc
  std::vector<Sequence*> DecodeReady();
  bool DecodeStep(const std::vector<Sequence*>& ready);
  bool MakeRoom(Sequence& sequence);
  void Pause(Sequence& sequence);
  void TakeRow(Sequence& sequence, std::span<const float> logits);
  void TakeGenerated(Sequence& sequence, std::span<const float> logits);
  void TakeScored(Sequence& sequence, std::span<const float> logits);

  StepEngine& engine_;
  RequestQueue& queue_;
  LoopObserver& observer_;
  const Options options_;
  const OnEnd on_end_;
  const int64_t score_block_rows_;

  std::vector<std::unique_ptr<Sequence>> sequences_;  // by order of admission
  uint64_t next_order_ = 1;
  uint64_t next_ticket_ = 1;
  uint64_t last_decoded_ = 0;                 // order of the last row of the last decode step
  std::chrono::nanoseconds prefill_time_{0};  // since the last decode step, while streams wait
  size_t paused_bytes_ = 0;
  Counts counts_;

  // The chunk on its way through the layers, if any.
  Sequence* chunk_ = nullptr;
  int64_t chunk_rows_ = 0;
  int64_t next_scored_row_ = 0;  // absolute

  std::vector<float> logits_;
  SamplerScratch scratch_;
};

}  // namespace hearth
