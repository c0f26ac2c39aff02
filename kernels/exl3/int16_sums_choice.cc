#include "kernels/exl3/int16_sums_choice.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <vector>

#include "common/base/check.h"

namespace hearth::kernels {
namespace {

constexpr Int16SumsVariant kAvx2[] = {{"two-state", Int16SumsAvx2}, {"one-state", Int16SumsAvx2OneState}};
constexpr Int16SumsVariant kAvx512[] = {
    {"shuffle", Int16SumsAvx512Shuffle}, {"shift", Int16SumsAvx512Shift}, {"shift-mask", Int16SumsAvx512ShiftMask}};

// One strip at the bits that experts mostly have and one row, which is what decode mostly asks for; small enough for
// the second-level cache: what is compared are instructions, not memory.
constexpr uint32_t kBits = 3;
constexpr Dim kInputs = 1024;
constexpr int kRounds = 128;  // in turns, and the least counts: an interruption spoils a round, not the choice

struct alignas(64) Line {
  std::byte bytes[64];
};

std::vector<Line> Lines(Dim bytes) { return std::vector<Line>(static_cast<size_t>((bytes + 63) / 64)); }

}  // namespace

const std::span<const Int16SumsVariant> kAvx2Int16Sums = kAvx2, kAvx512Int16Sums = kAvx512;

const Int16SumsVariant& QuickestInt16Sums(std::span<const Int16SumsVariant> variants) {
  using Clock = std::chrono::steady_clock;
  HEARTH_CHECK(!variants.empty(), "nothing to choose from");
  std::vector<Line> strip = Lines(kInputs * kStripColumns * kBits / 8);
  std::minstd_rand random(1);
  for (Line& line : strip) {
    for (std::byte& byte : line.bytes) byte = static_cast<std::byte>(random() >> 8);
  }
  std::vector<Line> row_memory = Lines(kInputs * 4);
  const Int16Row row(row_memory.data(), kInputs);
  for (Dim block = 0; block < kInputs / kInt16Block; ++block) {
    float x[kInt16Block];
    for (float& v : x) v = static_cast<float>(random() % 2001) / 1000 - 1;
    QuantizeBlockRef(x, row.values + block * kInt16Block, row.scales + block, row.starts + block);
  }
  MatrixView w;
  w.kind = WeightKind::kExl3;
  w.codebook = Codebook::kMul1;
  w.bits = kBits;
  w.in_features = w.in_padded = kInputs;
  w.out_features = w.out_padded = kStripColumns;
  w.data = strip.data();
  alignas(64) float sums[kStripColumns] = {};
  std::vector<Clock::duration> least(variants.size(), Clock::duration::max());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < variants.size(); ++i) {
      const auto begin = Clock::now();
      variants[i].sums(w, 0, row_memory.data(), 0, 1, sums);
      least[i] = std::min(least[i], Clock::now() - begin);
    }
  }
  return variants[static_cast<size_t>(std::min_element(least.begin(), least.end()) - least.begin())];
}

}  // namespace hearth::kernels
