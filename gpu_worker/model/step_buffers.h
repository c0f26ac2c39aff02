#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/model/model_config.h"
#include "gpu_worker/model/sequence_store.h"
#include "kernels/indexer/indexer.h"
#include "kernels/kda/kda.h"
#include "kernels/real.h"

namespace hearth {

// Consecutive rows of a step that belong to one sequence.
struct StepSegment {
  SequenceStore::Slot slot = 0;
  int64_t row_begin = 0;
  int64_t row_count = 0;
  int64_t position = 0;  // of the first row
};

// Where the rows of a step belong, and every activation that a layer needs. Buffers grow to the largest step seen and
// are then reused, so a steady state allocates nothing.
struct StepBuffers {
  // Resizes for `segments` and looks up each sequence's pages.
  void Prepare(const ModelConfig& config, const SequenceStore& store, std::vector<StepSegment> segments);
  kernels::RowPages where(int64_t page_tokens) const;

  std::vector<StepSegment> segments;
  int64_t rows = 0;

  std::vector<int32_t> row_sequence, row_position, page_table;
  int64_t page_stride = 0;

  std::vector<kernels::Real> streams;             // [rows, H, D]
  std::vector<kernels::Real> x, y;                // [rows, D]: input and output of a half layer
  std::vector<kernels::Real> post, comb;          // [rows, H], [rows, H, H]
  std::vector<kernels::Real> wide_a, wide_b;      // [rows, the widest projection]
  std::vector<kernels::Real> low_rank;            // [rows, the widest inner width]
  std::vector<kernels::Real> heads;               // [rows, the most heads]
  std::vector<kernels::Real> gate, decay, beta;   // KDA: [rows, W], [rows, W], [rows, heads]
  std::vector<kernels::Real> attention;           // [rows, the widest attention output]
  std::vector<int32_t> pick_ids;                  // [rows, top_k], ascending
  std::vector<kernels::Real> pick_weight;         // [rows, top_k]
  std::vector<kernels::Real> pick_out;            // [rows, top_k, D]
  std::vector<int32_t> selected, selected_count;  // of the newest full indexer, for layers that share it
};

}  // namespace hearth
