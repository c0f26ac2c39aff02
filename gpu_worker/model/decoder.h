#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/model/hint_maker.h"
#include "gpu_worker/model/model_config.h"
#include "gpu_worker/model/sequence_store.h"
#include "gpu_worker/model/step_buffers.h"
#include "gpu_worker/model/weights.h"
#include "kernels/device_array.h"

namespace hearth {

// The forward pass. One thread drives it. Prefill is a cursor over (chunk, layer): between any two layers a decode
// step of other sequences may run. Room in the store (Reserve) is the caller's business and must exist before a call.
class Decoder {
 public:
  struct Limits {
    int64_t chunk_size = 8192;   // most tokens of one prefill chunk; a multiple of 64
    int64_t max_batch_rows = 8;  // most rows of one decode step
  };
  struct DecodeRow {
    SequenceStore::Slot slot;
    int32_t token;
  };
  // Sees intermediates of prefill and decode while they exist; `rows` of `width` values. For tests only.
  using Tap = std::function<void(const std::string& name, const kernels::Real* values, int64_t rows, int64_t width)>;

  // Told when all work of a stage has been put on the backend's stream, so that whoever records marks there gets a
  // timeline. kPlan ends when the executor has planned, kExperts when it has put its work there and has what it waited
  // for.
  enum class Stage { kEmbed, kMixer, kAttention, kDenseMlp, kRouter, kPlan, kSharedMlp, kExperts, kCombine, kHead };
  using StageObserver = std::function<void(Stage)>;

  // All references outlive the decoder.
  Decoder(const ModelConfig& config, const ModelWeights& weights, const kernels::Backend& backend, MoeExecutor& experts,
          SequenceStore& store, const Limits& limits);
  ~Decoder();

  int layer_count() const { return config_.num_hidden_layers; }
  int vocab_size() const { return config_.vocab_size; }

  // Starts a chunk of one sequence at its current length: at most chunk_size tokens; all chunks but a sequence's last
  // one end at a multiple of 64. One chunk at a time.
  void BeginChunk(SequenceStore::Slot slot, std::span<const int32_t> tokens);
  // Runs the next layer of the chunk; kCancelled when `cancelled` said so inside. After the last layer the sequence's
  // length has grown and chunk_done() is true.
  Status StepLayer(const std::function<bool()>& cancelled);
  bool chunk_done() const;
  int chunk_layer() const;  // layers done so far
  // Forgets the chunk, finished or not, and gives back the memory that the expert cache lent it. The sequence of an
  // unfinished one must be closed.
  void AbandonChunk();
  // Logits of rows [begin, begin + count) of the finished chunk, [count, vocab], to host memory.
  void ChunkLogits(int64_t begin, int64_t count, kernels::Real* logits);

  // One token for each row's sequence; at most max_batch_rows rows, all of different sequences. logits [rows, vocab],
  // host memory.
  Status Decode(std::span<const DecodeRow> rows, kernels::Real* logits);

  void set_tap(Tap tap) { tap_ = std::move(tap); }
  void set_stage_observer(StageObserver observer) { observer_ = std::move(observer); }

 private:
  using Phase = kernels::Phase;
  struct Chunk {  // the prefill cursor
    explicit Chunk(const kernels::Backend& backend) : buffers(backend) {}
    StepBuffers buffers;
    SequenceStore::Slot slot = -1;
    int layers_done = -1;  // -1: no chunk
  };

  void Begin(StepBuffers& b, std::vector<StepSegment> segments, std::span<const int32_t> tokens,
             std::byte* lent = nullptr);
  Status RunLayer(StepBuffers& b, int layer, Phase phase, const std::function<bool()>& cancelled);
  void Mix(StepBuffers& b, const MixerWeights& mixer, const float* norm);
  void Spread(StepBuffers& b);
  void Kda(StepBuffers& b, const KdaWeights& w, int layer, Phase phase);
  void Mla(StepBuffers& b, const MlaWeights& w, int layer, Phase phase);
  void SelectPools(StepBuffers& b, const IndexerWeights& w, const kernels::Real* query_latent, int mla_layer,
                   Phase phase);
  void Mlp(StepBuffers& b, const MlpView& w, Phase phase);
  Status Moe(StepBuffers& b, const LayerWeights& w, int layer, Phase phase, const std::function<bool()>& cancelled);
  // Without its outputs.
  kernels::RouterArgs Router(const StepBuffers& b, int layer, Phase phase) const;
  // What `layer` will probably pick, made from the input of the experts before it; nothing where nobody asks.
  PickHints Hints(const StepBuffers& b, int layer);
  void Logits(const StepBuffers& b, int64_t begin, int64_t count, kernels::Real* logits);
  void Linear(Phase phase, const kernels::Real* x, int64_t rows, const MatrixView& w, kernels::Real* y,
              int64_t y_stride = 0);
  void Done(Stage stage) const {
    if (observer_) observer_(stage);
  }
  void Emit(const char* what, int layer, const kernels::Real* values, int64_t rows, int64_t width) const;
  void EmitIds(const char* what, int layer, const int32_t* values, int64_t rows, int64_t width) const;
  template <typename T>
  std::vector<T> Download(const T* values, int64_t count) const;

  ModelConfig config_;
  const ModelWeights& weights_;
  const kernels::Backend& ops_;
  MoeExecutor& experts_;
  SequenceStore& store_;
  Limits limits_;
  Tap tap_;
  StageObserver observer_;
  Chunk chunk_;
  StepBuffers decode_;
  kernels::DeviceArray<kernels::Real> head_in_, logits_;
  void* const picked_;                           // a device has handed over the picks of a layer
  kernels::HostArray<int32_t> picks_;            // [rows, top_k]
  kernels::HostArray<kernels::Real> expert_in_;  // [rows, hidden], decode
  HintMaker hints_;
};

}  // namespace hearth
