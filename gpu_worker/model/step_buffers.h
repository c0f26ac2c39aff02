#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_worker/model/model_config.h"
#include "gpu_worker/model/sequence_store.h"
#include "kernels/device_array.h"

namespace hearth {

// Consecutive rows of a step that belong to one sequence.
struct StepSegment {
  SequenceStore::Slot slot = 0;
  int64_t row_begin = 0;
  int64_t row_count = 0;
  int64_t position = 0;  // of the first row
};

// Rows of latent attention that are worked on at a time: their absorbed queries are the widest rows of all.
constexpr int64_t kAttentionBlockRows = 1024;

// Where the rows of a step belong, and every activation that a layer needs. Buffers grow to the largest step seen and
// are then reused, so a steady state allocates nothing.
struct StepBuffers {
  explicit StepBuffers(const kernels::Backend& backend);

  // Bytes of the activations of a step of so many rows.
  static uint64_t ActivationBytes(const ModelConfig& config, int64_t rows);

  // Resizes for `segments`, looks up each sequence's pages and hands tokens and pages to the backend. Activations lie
  // in `lent` (ActivationBytes, 256-byte aligned), or in memory of their own when it is null.
  void Prepare(const ModelConfig& config, const SequenceStore& store, std::vector<StepSegment> segments,
               std::span<const int32_t> tokens, std::byte* lent = nullptr);
  // Activations stand in lent memory no more.
  void GiveBack(const ModelConfig& config);
  kernels::RowPages where(int64_t page_tokens) const;

  std::vector<StepSegment> segments;
  int64_t rows = 0;

  template <typename T>
  using Array = kernels::DeviceArray<T>;

  Array<int32_t> token_ids, row_sequence, row_position, page_table;
  int64_t page_stride = 0;

  Array<kernels::Real> streams;             // [rows, H, D]
  Array<kernels::Real> x, y;                // [rows, D]: input and output of a half layer
  Array<kernels::Real> post, comb;          // [rows, H], [rows, H, H]
  Array<kernels::Real> wide_a, wide_b;      // [rows, the widest projection]
  Array<kernels::Real> low_rank;            // [rows, the widest inner width]
  Array<kernels::Real> heads;               // [rows, the most heads]
  Array<kernels::Real> gate, decay, beta;   // KDA: [rows, W], [rows, W], [rows, heads]
  Array<kernels::Real> attention;           // KDA: [rows, W]; MLA: two of [rows of a block, heads, rank]
  Array<int32_t> pick_ids;                  // [rows, top_k], ascending
  Array<kernels::Real> pick_weight;         // [rows, top_k]
  Array<kernels::Real> pick_out;            // [rows, top_k, D]
  Array<int32_t> selected, selected_count;  // of the newest full indexer, for layers that share it

 private:
  template <typename F>
  void ForEachActivation(const ModelConfig& config, int64_t count, F&& f);

  std::vector<int32_t> host_sequence_, host_position_, host_pages_;
};

}  // namespace hearth
