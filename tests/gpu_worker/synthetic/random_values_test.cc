#include "gpu_worker/synthetic/random_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/base/float16.h"
#include "kernels/exl3/exl3.h"

namespace hearth {
namespace {

TEST(RandomValues, StripsInPlaceAreTheRepackedFileOrder) {
  for (const uint32_t bits : {1u, 3u, 5u, 8u}) {
    const kernels::Dim in = 256, out = 640, strips = out / 128;
    std::vector<uint16_t> trellis(in * out * bits / 16);
    FillRandom(7, {.kind = ValueLaw::Kind::kBits}, DType::kI16, 0, trellis.size(), trellis.data());
    std::vector<std::byte> repacked(trellis.size() * 2), made(trellis.size() * 2);
    kernels::Exl3RepackStrips(trellis.data(), in, out, bits, 0, strips, repacked.data());
    FillRandomStrips(7, in, out, bits, 3, strips, made.data());
    FillRandomStrips(7, in, out, bits, 0, 3, made.data());
    EXPECT_EQ(std::memcmp(made.data(), repacked.data(), made.size()), 0) << bits;
  }
}

TEST(RandomValues, AnyPartIsThatOfTheWhole) {
  const ValueLaw laws[] = {{.kind = ValueLaw::Kind::kUniform, .mean = 1, .amp = 0.5},
                           {.kind = ValueLaw::Kind::kSigned, .amp = 0.25}};
  for (const ValueLaw& law : laws) {
    for (const DType dtype : {DType::kF16, DType::kBf16}) {
      std::vector<uint16_t> whole(1000), part(300);
      FillRandom(3, law, dtype, 0, whole.size(), whole.data());
      FillRandom(3, law, dtype, 500, 800, part.data());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 500));
    }
  }
}

TEST(RandomValues, LawsHaveTheirMoments) {
  constexpr size_t kCount = 100000;
  std::vector<float> values(kCount);
  const auto moments = [&](const ValueLaw& law) {
    FillRandom(11, law, DType::kF32, 0, kCount, values.data());
    double sum = 0, squares = 0;
    for (float v : values) sum += v, squares += double{v} * v;
    return std::pair(sum / kCount, std::sqrt(squares / kCount));
  };
  const auto [mean, rms] = moments({.kind = ValueLaw::Kind::kUniform, .mean = 1, .amp = 0.3});
  EXPECT_NEAR(mean, 1, 0.005);
  EXPECT_NEAR(rms, std::sqrt(1 + 0.03), 0.005);
  const auto [signed_mean, signed_rms] = moments({.kind = ValueLaw::Kind::kSigned, .amp = 2});
  EXPECT_NEAR(signed_mean, 0, 0.03);
  EXPECT_NEAR(signed_rms, 2 * std::sqrt(1 + 0.16 / 3), 0.01);
}

}  // namespace
}  // namespace hearth
