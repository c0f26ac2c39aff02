#include <memory>

#include "common/base/check.h"
#include "common/base/float16.h"
#include "kernels/exl3/exl3.h"

namespace hearth::kernels {
namespace {

constexpr uint32_t kStates = 65536;

uint16_t Mul1(uint32_t state) {
  const uint32_t x = state * 0x83DCD12Du;
  const uint32_t sum = (x & 255) + ((x >> 8) & 255) + ((x >> 16) & 255) + (x >> 24);
  // Product and difference are exact in fp32; the one rounding is the conversion.
  return FloatToF16(static_cast<float>(sum) * 0.00676727294921875f - 3.453125f);
}

// Two fp16 numbers of magnitude 0.125 to 2 cut out of a hash; their fp32 sum is exact.
uint16_t SumOfHalves(uint32_t hash) {
  const uint32_t halves = (hash & 0x8FFF8FFFu) ^ 0x3B603B60u;
  return FloatToF16(F16ToFloat(static_cast<uint16_t>(halves)) + F16ToFloat(static_cast<uint16_t>(halves >> 16)));
}

std::unique_ptr<float[]> BuildTable(Codebook codebook) {
  auto table = std::make_unique<float[]>(kStates);
  for (uint32_t s = 0; s < kStates; ++s) table[s] = F16ToFloat(Exl3CodebookF16(codebook, static_cast<uint16_t>(s)));
  return table;
}

}  // namespace

uint16_t Exl3CodebookF16(Codebook codebook, uint16_t state) {
  switch (codebook) {
    case Codebook::kMul1:
      return Mul1(state);
    case Codebook::kMcg:
      return SumOfHalves(state * 0xCBAC1FEDu);
    case Codebook::k3inst:
      return SumOfHalves(state * 89226354u + 64248484u);
  }
  HEARTH_CHECK(false, "unknown codebook " + std::to_string(static_cast<int>(codebook)));
}

const float* Exl3CodebookTable(Codebook codebook) {
  static const std::unique_ptr<float[]> tables[] = {BuildTable(Codebook::k3inst), BuildTable(Codebook::kMcg),
                                                    BuildTable(Codebook::kMul1)};
  return tables[static_cast<uint32_t>(codebook)].get();
}

}  // namespace hearth::kernels
