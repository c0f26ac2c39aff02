#include <cstdio>

#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/support/paged.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::RelativeError;

struct Case {
  Dim heads, rank, kpool, stride;
  PagedRows paged;
  KvPool pool;
  Floats ql;
  std::vector<int32_t> selected, count;
};

// Two sequences of `tokens` tokens, rows at random places and at both ends; about `share` of the visible pools selected.
// Selected entries past the count and latents of nobody are poison.
Case MakeCase(KvType type, Dim rows, Dim heads, Dim rank, Dim kpool, Dim tokens, double share, Dim page_tokens = 60) {
  Numbers numbers(static_cast<uint64_t>(rows + heads * 10 + rank * 100 + kpool * 7));
  PagedRows paged(2, tokens, page_tokens, 5);
  for (Dim r = 0; r < rows; ++r) paged.Add(r % 2, r == 0 ? 0 : r == 1 ? tokens - 1 : numbers.Below(tokens));
  Case c{heads, rank, kpool, tokens / kpool, paged, KvPool(type, paged.page_count() * page_tokens * rank),
         {},    {},   {}};
  c.ql = numbers.Some(rows * heads * rank, 2.0);
  for (Dim s = 0; s < 2; ++s) {
    for (Dim t = 0; t < tokens; ++t) {
      for (Dim i = 0; i < rank; ++i) c.pool.Set(paged.Slot(s, t) * rank + i, static_cast<float>(numbers.Next()));
    }
  }
  for (Dim r = 0; r < rows; ++r) {
    int32_t kept = 0;
    for (Dim p = 0; p < (paged.position(r) + 1) / kpool; ++p) {
      if (p == 0 || (numbers.Next() + 1) / 2 < share) c.selected.push_back(static_cast<int32_t>(p)), ++kept;
    }
    c.count.push_back(kept);
    c.selected.resize((r + 1) * c.stride, -1);
  }
  return c;
}

LatentAttentionArgs Args(const Case& c, Dim first, Dim rows, Phase phase) {
  LatentAttentionArgs args;
  args.ql = c.ql.data() + first * c.heads * c.rank;
  args.rows = rows;
  args.heads = c.heads;
  args.rank = c.rank;
  args.where = c.paged.Where(first);
  args.kv_type = c.pool.type();
  args.selected = c.selected.data() + first * c.stride;
  args.selected_count = c.count.data() + first;
  args.selected_stride = c.stride;
  args.kpool = c.kpool;
  args.scale = 0.25f / static_cast<float>(std::sqrt(static_cast<double>(c.rank) / 16));
  args.phase = phase;
  return args;
}

Floats Reference(Case& c, Dim rows) {
  LatentAttentionArgs args = Args(c, 0, rows, Phase::kDecode);
  Floats out = Poisoned(rows * c.heads * c.rank);
  args.pool = c.pool.data();
  args.ol = out.data();
  RefBackend().latent_attention(nullptr, args);
  return out;
}

Floats Attend(const Case& c, Dim first, Dim rows, Phase phase, int repeats = 1) {
  DeviceCopy device;
  const LatentAttentionArgs host = Args(c, first, rows, phase);
  LatentAttentionArgs args = host;
  args.ql = device.Put(Floats(host.ql, host.ql + rows * c.heads * c.rank));
  args.where = device.Put(host.where, rows, 2);
  args.pool = device.Put(c.pool.bytes());
  args.selected = device.Put(std::vector<int32_t>(host.selected, host.selected + rows * c.stride));
  args.selected_count = device.Put(std::vector<int32_t>(host.selected_count, host.selected_count + rows));
  Floats all;
  for (int i = 0; i < repeats; ++i) {
    args.ol = device.Poisoned<float>(rows * c.heads * c.rank);
    device.backend().latent_attention(device.backend().stream, args);
    const Floats out = device.Get(args.ol, rows * c.heads * c.rank);
    if (i > 0) {
      EXPECT_TRUE(SameBits(out, all)) << "repeat " << i;
    }
    all = out;
  }
  return all;
}

// Scores here have a size of about 2. fp32 and f16 pairs: a few units of 2^-24 per sum, times that size. Single f16
// (prefill at rank 512): query and weights carry 2^-12 each, mostly averaged out.
void Compare(KvType type, Dim rows, Dim heads, Dim rank, Dim kpool, Dim tokens, double share) {
  Case c = MakeCase(type, rows, heads, rank, kpool, tokens, share);
  const Floats want = Reference(c, rows);
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    const double error = RelativeError(Attend(c, 0, rows, phase), want);
    const bool rounded = rank == 512 && type == KvType::kF16 && phase == Phase::kPrefill;
    std::printf("latent_attention %s %s rows %lld heads %lld rank %lld kpool %lld tokens %lld: error %.2e\n",
                type == KvType::kF16 ? "f16" : "f32", phase == Phase::kPrefill ? "prefill" : "decode",
                static_cast<long long>(rows), static_cast<long long>(heads), static_cast<long long>(rank),
                static_cast<long long>(kpool), static_cast<long long>(tokens), error);
    EXPECT_LE(error, rounded ? 1e-3 : 5e-6);
  }
}

TEST(LatentAttentionCuda, AgreesWithTheReferenceAtOddSizes) {
  for (KvType type : {KvType::kF32, KvType::kF16}) {
    Compare(type, 5, 1, 1, 1, 40, 0.5);
    Compare(type, 7, 7, 13, 3, 150, 0.6);
    Compare(type, 9, 4, 48, 4, 300, 0.9);
    Compare(type, 3, 2, 640, 2, 200, 0.7);
  }
}

TEST(LatentAttentionCuda, AgreesWithTheReferenceAtTheRealRank) {
  Compare(KvType::kF16, 5, 64, 512, 4, 700, 0.8);
  Compare(KvType::kF16, 3, 5, 512, 3, 300, 1.0);
  Compare(KvType::kF16, 2, 70, 512, 4, 130, 1.0);
  Compare(KvType::kF32, 2, 3, 512, 4, 300, 0.5);
}

TEST(LatentAttentionCuda, RowAloneHasTheSameBits) {
  for (Dim rank : {40, 512}) {
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const Case c = MakeCase(KvType::kF16, 12, 20, rank, 4, 330, 0.7);
      const Floats all = Attend(c, 0, 12, phase);
      for (Dim r = 0; r < 12; ++r) EXPECT_TRUE(SameBits(Attend(c, r, 1, phase), Rows(all, 20 * rank, r, 1)));
    }
  }
}

TEST(LatentAttentionCuda, WhereThePagesLieDoesNotShow) {
  for (Dim rank : {24, 512}) {
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const Case a = MakeCase(KvType::kF16, 6, 16, rank, 4, 240, 1.0, 8);
      Case b = MakeCase(KvType::kF16, 6, 16, rank, 4, 240, 1.0, 64);
      b.ql = a.ql;
      b.selected = a.selected;
      b.count = a.count;
      b.paged = PagedRows(2, 240, 64, 99);
      for (Dim r = 0; r < 6; ++r) b.paged.Add(a.paged.sequence(r), a.paged.position(r));
      for (Dim s = 0; s < 2; ++s) {
        for (Dim t = 0; t < 240; ++t) {
          for (Dim i = 0; i < rank; ++i) {
            b.pool.Set(b.paged.Slot(s, t) * rank + i, a.pool.At(a.paged.Slot(s, t) * rank + i));
          }
        }
      }
      EXPECT_TRUE(SameBits(Attend(a, 0, 6, phase), Attend(b, 0, 6, phase)));
    }
  }
}

TEST(LatentAttentionCuda, HundredRepeatsHaveTheSameBits) {
  const Case c = MakeCase(KvType::kF16, 4, 64, 512, 4, 600, 0.8);
  Attend(c, 0, 4, Phase::kDecode, 100);
  Attend(c, 0, 4, Phase::kPrefill, 100);
}

TEST(StoreLatentsCuda, HasTheReferencesBits) {
  for (KvType type : {KvType::kF32, KvType::kF16}) {
    for (Dim rank : {1, 37, 512}) {
      PagedRows paged(3, 40, 8, 11);
      for (Dim r = 0; r < 100; ++r) paged.Add(r % 3, r / 3);
      Numbers numbers(static_cast<uint64_t>(rank));
      Floats latents = numbers.Some(100 * rank, 3.0);
      for (Dim r = 0; r < 100; ++r) latents[r * rank] *= std::ldexp(1.0f, static_cast<int>(r % 60 - 40));  // subnormals
      latents[5 * rank] = 1e6f;
      KvPool pool(type, paged.page_count() * 8 * rank);
      DeviceCopy device;
      uint8_t* on_device = device.Put(pool.bytes());
      RefBackend().store_latents(nullptr, {latents.data(), 100, rank, paged.Where(), type, pool.data()});
      device.backend().store_latents(device.backend().stream, {device.Put(latents), 100, rank,
                                                               device.Put(paged.Where(), 100, 3), type, on_device});
      EXPECT_EQ(device.Get(on_device, static_cast<int64_t>(pool.bytes().size())), pool.bytes()) << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
