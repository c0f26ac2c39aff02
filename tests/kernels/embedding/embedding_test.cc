#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/base/float16.h"
#include "kernels/backend.h"

namespace hearth::kernels {
namespace {

TEST(Embed, CopiesTheRowIntoEveryStream) {
  const Dim hidden = 19, hc = 3, vocab = 5;
  std::vector<float> f32(vocab * hidden);
  for (size_t i = 0; i < f32.size(); ++i) f32[i] = 0.125f * static_cast<float>(i) - 4.0f;  // exact in all types
  std::vector<uint16_t> f16, bf16;
  for (float v : f32) f16.push_back(FloatToF16(v)), bf16.push_back(FloatToBf16(v));
  const std::vector<int32_t> ids{4, 0, 4, 2};
  for (const Backend* backend : {&RefBackend(), HostHasAvx2() ? &Avx2Backend() : &RefBackend()}) {
    for (const WeightKind kind : {WeightKind::kF32, WeightKind::kF16, WeightKind::kBf16}) {
      const void* table = kind == WeightKind::kF32   ? static_cast<const void*>(f32.data())
                          : kind == WeightKind::kF16 ? f16.data()
                                                     : bf16.data();
      std::vector<float> streams(ids.size() * hc * hidden, NAN);
      backend->embed(backend->stream,
                     {table, kind, ids.data(), static_cast<Dim>(ids.size()), hc, hidden, streams.data()});
      for (size_t r = 0; r < ids.size(); ++r) {
        for (Dim h = 0; h < hc; ++h) {
          for (Dim d = 0; d < hidden; ++d) {
            const Dim from = ids[r] * hidden + d;
            const float expected = kind == WeightKind::kF32   ? f32[from]
                                   : kind == WeightKind::kF16 ? F16ToFloat(f16[from])
                                                              : Bf16ToFloat(bf16[from]);
            ASSERT_EQ(streams[(r * hc + h) * hidden + d], expected) << backend->name << " row " << r;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
