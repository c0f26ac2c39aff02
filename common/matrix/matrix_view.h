#pragma once

#include <cstdint>

namespace hearth {

enum class WeightKind : uint32_t { kNone = 0, kExl3 = 1, kF16 = 2, kBf16 = 3, kF32 = 4 };
enum class Codebook : uint32_t { k3inst = 0, kMcg = 1, kMul1 = 2 };

constexpr int64_t kStripColumns = 128;  // output columns of one strip, and the size of a Hadamard block
constexpr int64_t kTile = 16;

// One weight matrix of y = x W (+ bias), W being [in, out], in the layout that every reader of this project shares.
//
// EXL3   data is [out_padded/128][in_padded/16][8 tiles][8*bits u32 words]; inside a tile, word w of the file's order
//        lies at (w mod bits)*8 + w/bits (docs/formats/expert_home.md, "Strips"). suh [in_padded], svh [out_padded]
//        are fp16 bits. Both paddings are multiples of 128.
// plain  data is [out_padded/128][in_features][128] of the kind's type, surplus columns zero; in_padded equals
//        in_features; suh and svh are null.
struct MatrixView {
  WeightKind kind = WeightKind::kNone;
  Codebook codebook = Codebook::kMul1;
  uint32_t bits = 0;  // K of EXL3, 1..8
  int64_t in_features = 0, out_features = 0;
  int64_t in_padded = 0, out_padded = 0;
  const void* data = nullptr;  // 64-byte aligned
  const uint16_t* suh = nullptr;
  const uint16_t* svh = nullptr;
  const float* bias = nullptr;  // [out_features], may be null

  int64_t strips() const { return out_padded / kStripColumns; }
  int64_t bytes_per_strip() const {
    switch (kind) {
      case WeightKind::kExl3:
        return in_padded * kTile * bits;
      case WeightKind::kF16:
      case WeightKind::kBf16:
        return in_features * kStripColumns * 2;
      case WeightKind::kF32:
        return in_features * kStripColumns * 4;
      case WeightKind::kNone:
        break;
    }
    return 0;
  }
  int64_t bytes() const { return bytes_per_strip() * strips(); }
};

// The three matrices of a gated MLP: y = down(silu(min(gate x, limit)) * clamp(up x, -limit, limit)).
struct MlpView {
  MatrixView gate, up, down;  // [hidden, width], [hidden, width], [width, hidden]
  float limit = 0;            // swiglu_limit
};

}  // namespace hearth
