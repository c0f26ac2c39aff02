#include "kernels/expert_ffn/int16_expert.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/base/check.h"
#include "kernels/thread_scratch.h"

namespace hearth::kernels {
namespace {

constexpr Dim kLine = 64;

bool TakesInt16(const MatrixView& w) { return w.kind == WeightKind::kExl3 && w.codebook == Codebook::kMul1; }

Dim RoundUp(Dim bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Of a rotated row, as int16 or as fp32. The odd line keeps rows on different cache sets.
Dim RowBytes(const MatrixView& w) { return RoundUp(w.in_padded * 4) + kLine; }

// The part of a row's result that is alike for all its outputs, see int16_row.h; block after block.
float Rest(const Int16Row& row, Dim blocks) {
  constexpr float kPerStart = kMul1Rest / (-510 * kMul1Alpha);
  float rest = 0;
  for (Dim b = 0; b < blocks; ++b) rest += row.scales[b] * (static_cast<float>(row.starts[b]) * kPerStart);
  return rest;
}

}  // namespace

struct Int16Expert::Scratch {
  std::atomic<uint32_t>* met = nullptr;  // [strips of gate]: how many of gate and up are done
  std::byte *gate_in = nullptr, *up_in = nullptr, *down_in = nullptr;  // [picks] rows
  float *gate = nullptr, *up = nullptr;                                // [strips of gate][picks][128]
  Dim gate_stride = 0, up_stride = 0, down_stride = 0;                 // bytes
  Dim bytes = 0;

  Scratch(const MlpView& e, Dim picks, void* memory)
      : gate_stride(RowBytes(e.gate)), up_stride(RowBytes(e.up)), down_stride(RowBytes(e.down)) {
    HEARTH_CHECK(e.gate.strips() == e.up.strips(), "gate and up differ in width");
    auto* const begin = static_cast<std::byte*>(memory);
    const auto take = [&](Dim size) {
      std::byte* const at = begin == nullptr ? nullptr : begin + bytes;
      bytes += RoundUp(size);
      return at;
    };
    met = reinterpret_cast<std::atomic<uint32_t>*>(take(e.gate.strips() * 4));
    gate_in = take(picks * gate_stride);
    up_in = take(picks * up_stride);
    down_in = take(picks * down_stride);
    const Dim outputs = e.gate.strips() * picks * kStripColumns * 4;
    gate = reinterpret_cast<float*>(take(outputs));
    up = reinterpret_cast<float*>(take(outputs));
  }
};

Dim Int16Expert::ScratchBytes(const MlpView& expert, Dim picks) const { return Scratch(expert, picks, nullptr).bytes; }

Dim Int16Expert::Units(const MlpView& expert, Dim picks, ExpertPhase phase) const {
  if (picks == 0) return 0;
  switch (phase) {
    case ExpertPhase::kRotateIn:
      return 2 * picks;
    case ExpertPhase::kGateUp:
      return 2 * expert.gate.strips();
    case ExpertPhase::kRotateMid:
      return 0;
    case ExpertPhase::kDown:
      break;
  }
  return expert.down.strips();
}

void Int16Expert::Run(const ExpertFfnArgs& args, ExpertPhase phase, Dim unit, void* scratch) const {
  const Scratch s(args.expert, args.picks, scratch);
  switch (phase) {
    case ExpertPhase::kRotateIn: {
      if (unit == 0) std::fill_n(s.met, args.expert.gate.strips(), 0u);
      const Dim pick = unit / 2;
      const float* x = args.x + args.x_row[pick] * args.hidden;
      if (unit % 2 == 0) {
        RotateIn(args.expert.gate, x, s.gate_in + pick * s.gate_stride);
      } else {
        RotateIn(args.expert.up, x, s.up_in + pick * s.up_stride);
      }
      break;
    }
    case ExpertPhase::kGateUp:
      GateUp(args, s, unit);
      break;
    case ExpertPhase::kRotateMid:
      break;
    case ExpertPhase::kDown:
      Down(args, s, unit);
      break;
  }
}

void Int16Expert::RotateIn(const MatrixView& w, const float* x, std::byte* row) const {
  if (!TakesInt16(w)) {
    ops_.rotate(w, x, reinterpret_cast<float*>(row));
    return;
  }
  for (Dim block = 0; block < w.in_padded / kInt16Block; ++block) RotateBlock(w, block, x + block * kInt16Block, row);
}

// Inputs 128 block .. of a matrix, x pointing at the first of them, into their place of the row.
void Int16Expert::RotateBlock(const MatrixView& w, Dim block, const float* x, std::byte* row) const {
  const Dim first = block * kInt16Block;
  const Dim inputs = std::min(kInt16Block, w.in_features - first);
  MatrixView part = w;
  part.in_features = inputs;
  part.in_padded = w.kind == WeightKind::kExl3 ? kInt16Block : inputs;
  if (w.suh != nullptr) part.suh = w.suh + first;
  if (!TakesInt16(w)) {
    ops_.rotate(part, x, reinterpret_cast<float*>(row) + first);
    return;
  }
  alignas(64) float rotated[kInt16Block];
  ops_.rotate(part, x, rotated);
  const Int16Row to(row, w.in_padded);
  ops_.quantize(rotated, to.values + first, to.scales + block, to.starts + block);
}

// y [count, 128], 64-byte aligned
void Int16Expert::Product(const MatrixView& w, Dim strip, const std::byte* rows, Dim stride, Dim count,
                          float* y) const {
  if (!TakesInt16(w)) {
    ops_.product(w, strip, reinterpret_cast<const float*>(rows), stride / 4, count, y);
    return;
  }
  for (Dim r = 0; r < count; ++r) {
    std::fill_n(y + r * kStripColumns, kStripColumns,
                Rest(Int16Row(rows + r * stride, w.in_padded), w.in_padded / kInt16Block));
  }
  ops_.sums.sums(w, strip, rows, stride, count, y);
  ops_.finish(w, strip, count, y);
}

void Int16Expert::GateUp(const ExpertFfnArgs& args, const Scratch& s, Dim unit) const {
  const MlpView& e = args.expert;
  const Dim strip = unit / 2;
  float* const gate = s.gate + strip * args.picks * kStripColumns;
  float* const up = s.up + strip * args.picks * kStripColumns;
  if (unit % 2 == 0) {
    Product(e.gate, strip, s.gate_in, s.gate_stride, args.picks, gate);
  } else {
    Product(e.up, strip, s.up_in, s.up_stride, args.picks, up);
  }
  // The release of the first is seen by the acquire of the second.
  if (s.met[strip].fetch_add(1, std::memory_order_acq_rel) == 0) return;
  if (strip * kStripColumns >= e.down.in_features) return;
  for (Dim i = 0; i < args.picks; ++i) {
    float* const mid = gate + i * kStripColumns;
    ops_.swiglu(mid, up + i * kStripColumns, kStripColumns, e.limit, mid);
    RotateBlock(e.down, strip, mid, s.down_in + i * s.down_stride);
  }
}

void Int16Expert::Down(const ExpertFfnArgs& args, const Scratch& s, Dim strip) const {
  const Dim first = strip * kStripColumns;
  const Dim columns = std::min(kStripColumns, args.hidden - first);
  if (columns <= 0) return;
  float* const y = ThreadScratch(ScratchSlot::kStripSums, args.picks * kStripColumns);
  Product(args.expert.down, strip, s.down_in, s.down_stride, args.picks, y);
  for (Dim i = 0; i < args.picks; ++i) {
    std::memcpy(args.out + args.out_row[i] * args.hidden + first, y + i * kStripColumns,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

}  // namespace hearth::kernels
