#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hearth {

// The expert home: one file on tmpfs with every routed expert of a model once, read by the worker (creator) and mapped
// read-only by cpu_tier. Offsets count bytes from the start of the file. docs/formats/expert_home.md draws it.
//
//   HomeHeader | layer_filled words | HomeExpert[layers * experts] | scales | records (4096-aligned, equal stride)
//
// A record is gate, up, down of one expert in the strip layout of common/matrix/matrix_view.h, each 64-byte aligned.
// All records of a layer are adjacent. `complete` is stored last, with release order: seeing it means all is in place.

constexpr char kHomeMagic[8] = {'H', 'R', 'T', 'H', 'H', 'O', 'M', 'E'};
constexpr uint32_t kHomeLayoutVersion = 1;
constexpr uint64_t kHomeComplete = 0x434F4D504C455445ull;
constexpr uint64_t kHomeRecordAlignment = 4096;

struct HomeMatrix {
  uint32_t kind = 0;      // WeightKind
  uint32_t codebook = 0;  // Codebook
  uint32_t bits = 0;
  uint32_t unused = 0;
  uint32_t in_features = 0, out_features = 0, in_padded = 0, out_padded = 0;
  uint64_t data_offset = 0;  // from the start of the record
  uint64_t data_bytes = 0;
  uint64_t suh_offset = 0;  // from the start of the file, 0 when there is none; fp16 [in_padded]
  uint64_t svh_offset = 0;  // fp16 [out_padded]
};
static_assert(sizeof(HomeMatrix) == 64);

struct HomeExpert {
  HomeMatrix gate, up, down;
  uint64_t checksum = 0;  // Hash64 of the record's matrix bytes and scale vectors, gate, up, down
  // Stands for the state of the checkpoint's files when the expert was read from them or last compared with them.
  // 0: not known. The worker's own.
  uint64_t source_stamp = 0;
  uint64_t unused[6] = {};
};
static_assert(sizeof(HomeExpert) == 256 && offsetof(HomeExpert, source_stamp) == 200);

struct alignas(64) HomeHeader {
  char magic[8] = {};
  uint32_t layout_version = 0;
  uint32_t header_bytes = 0;
  char fingerprint[64] = {};  // hexadecimal text, zero padded
  uint32_t layers = 0;        // MoE layers
  uint32_t experts = 0;       // per layer
  uint32_t hidden = 0;
  uint32_t width = 0;  // moe_intermediate_size
  float swiglu_limit = 0;
  uint32_t unused = 0;
  uint64_t filled_offset = 0;  // uint32_t[layers], 1 when the layer's records are written
  uint64_t directory_offset = 0;
  uint64_t scales_offset = 0;
  uint64_t records_offset = 0;
  uint64_t record_stride = 0;
  uint64_t total_bytes = 0;
  uint64_t complete = 0;  // kHomeComplete; accessed through std::atomic_ref
};
static_assert(std::is_trivially_copyable_v<HomeHeader> && sizeof(HomeHeader) == 192);
static_assert(offsetof(HomeHeader, complete) == 152);

}  // namespace hearth
