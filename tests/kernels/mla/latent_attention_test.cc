#include "kernels/mla/mla.h"
#include "tests/kernels/support/paged.h"

namespace hearth::kernels {
namespace {

class LatentAttentionTest : public OpTest {};

struct Case {
  Dim heads, rank, kpool, tokens, stride;
  PagedRows paged;
  KvPool pool;
  Floats ql, latents;
  std::vector<int32_t> selected, count;
  float scale = 0.3f;
};

// Two sequences of `tokens` tokens, `rows` rows spread over them; about `share` of each row's visible pools selected.
Case MakeCase(KvType type, Dim rows, Dim heads, Dim rank, Dim kpool, Dim page_tokens, double share) {
  const Dim tokens = 90;
  Numbers numbers(static_cast<uint64_t>(rows + heads * 10 + rank * 100 + kpool * 7 + page_tokens));
  PagedRows paged(2, tokens, page_tokens, 5);
  for (Dim r = 0; r < rows; ++r) paged.Add(numbers.Below(2), r == 0 ? 0 : numbers.Below(tokens));
  Case c{heads,
         rank,
         kpool,
         tokens,
         tokens / kpool,
         paged,
         KvPool(type, paged.page_count() * page_tokens * rank),
         numbers.Some(rows * heads * rank, 2.0),
         numbers.Some(2 * tokens * rank),
         {},
         {}};
  for (Dim s = 0; s < 2; ++s) {
    for (Dim t = 0; t < tokens; ++t) {
      for (Dim i = 0; i < rank; ++i) c.pool.Set(paged.Slot(s, t) * rank + i, c.latents[(s * tokens + t) * rank + i]);
    }
  }
  for (Dim r = 0; r < rows; ++r) {
    const Dim visible = (paged.position(r) + 1) / kpool;
    const bool tail = (paged.position(r) + 1) % kpool != 0;
    int32_t kept = 0;
    for (Dim p = 0; p < visible; ++p) {
      const bool needed = !tail && p == visible - 1 && kept == 0;  // somebody has to be attended to
      if (needed || (numbers.Next() + 1) / 2 < share) {
        c.selected.push_back(static_cast<int32_t>(p));
        ++kept;
      }
    }
    c.count.push_back(kept);
    c.selected.resize((r + 1) * c.stride, -1);  // never to be followed
  }
  return c;
}

Floats Attend(const Backend& ops, Case& c, Dim first, Dim rows) {
  Floats out = Poisoned(rows * c.heads * c.rank);
  LatentAttentionArgs args;
  args.ql = c.ql.data() + first * c.heads * c.rank;
  args.rows = rows;
  args.heads = c.heads;
  args.rank = c.rank;
  args.where = c.paged.Where(first);
  args.kv_type = c.pool.type();
  args.pool = c.pool.data();
  args.selected = c.selected.data() + first * c.stride;
  args.selected_count = c.count.data() + first;
  args.selected_stride = c.stride;
  args.kpool = c.kpool;
  args.scale = c.scale;
  args.ol = out.data();
  ops.latent_attention(nullptr, args);
  return out;
}

Doubles Evaluate(const Case& c) {
  Doubles want;
  for (Dim r = 0; r < c.paged.rows(); ++r) {
    std::vector<Dim> attended;
    for (Dim p = 0; p < c.count[r]; ++p) {
      for (Dim j = 0; j < c.kpool; ++j) attended.push_back(c.selected[r * c.stride + p] * c.kpool + j);
    }
    const Dim end = c.paged.position(r) + 1;
    for (Dim t = end - end % c.kpool; t < end; ++t) attended.push_back(t);
    const auto latent = [&](Dim t, Dim i) -> double {
      const float x = c.latents[(c.paged.sequence(r) * c.tokens + t) * c.rank + i];
      return c.pool.type() == KvType::kF16 ? F16ToFloat(FloatToF16(x)) : x;
    };
    for (Dim h = 0; h < c.heads; ++h) {
      const float* ql = c.ql.data() + (r * c.heads + h) * c.rank;
      Doubles weight;
      double sum = 0;
      for (Dim t : attended) {
        double score = 0;
        for (Dim i = 0; i < c.rank; ++i) score += ql[i] * latent(t, i);
        weight.push_back(std::exp(static_cast<double>(c.scale) * score));
        sum += weight.back();
      }
      for (Dim i = 0; i < c.rank; ++i) {
        double mixed = 0;
        for (size_t j = 0; j < attended.size(); ++j) mixed += weight[j] / sum * latent(attended[j], i);
        want.push_back(mixed);
      }
    }
  }
  return want;
}

TEST_P(LatentAttentionTest, EqualsTheFormulaInDoublePrecision) {
  for (KvType type : {KvType::kF32, KvType::kF16}) {
    for (Dim heads : {1, 2, 4, 7}) {
      for (Dim rank : {1, 8, 13, 24, 31, 128}) {
        for (Dim kpool : {1, 2, 3, 4}) {
          Case c = MakeCase(type, 12, heads, rank, kpool, 12, 0.5);
          // A score is a sum of `rank` products of size up to 2; its error passes the exponential as it is.
          const double tolerance = 1e-6 * (2 + 0.3 * std::sqrt(static_cast<double>(rank)));
          EXPECT_TRUE(Close(Attend(Ops(), c, 0, 12), Evaluate(c), tolerance))
              << heads << " heads, rank " << rank << ", pools of " << kpool;
        }
      }
    }
  }
}

TEST_P(LatentAttentionTest, RowAloneHasTheSameBits) {
  for (KvType type : {KvType::kF32, KvType::kF16}) {
    for (Dim heads : {4, 6}) {
      Case c = MakeCase(type, 17, heads, 40, 4, 24, 0.6);
      const Floats all = Attend(Ops(), c, 0, 17);
      for (Dim r = 0; r < 17; ++r) {
        EXPECT_TRUE(SameBits(Attend(Ops(), c, r, 1), Rows(all, heads * 40, r, 1)));
      }
      ThreadsForTest one_thread(1);
      EXPECT_TRUE(SameBits(Attend(Ops(), c, 0, 17), all));
    }
  }
}

TEST_P(LatentAttentionTest, WhereThePagesLieDoesNotShow) {
  // Another page size, hence other places; all pools selected.
  Case a = MakeCase(KvType::kF32, 9, 4, 32, 4, 8, 1.0), b = MakeCase(KvType::kF32, 9, 4, 32, 4, 64, 1.0);
  b.ql = a.ql;
  b.selected = a.selected;
  b.count = a.count;
  b.paged = PagedRows(2, a.tokens, 64, 99);
  for (Dim r = 0; r < 9; ++r) b.paged.Add(a.paged.sequence(r), a.paged.position(r));
  for (Dim s = 0; s < 2; ++s) {
    for (Dim t = 0; t < a.tokens; ++t) {
      for (Dim i = 0; i < 32; ++i) b.pool.Set(b.paged.Slot(s, t) * 32 + i, a.pool.At(a.paged.Slot(s, t) * 32 + i));
    }
  }
  EXPECT_TRUE(SameBits(Attend(Ops(), a, 0, 9), Attend(Ops(), b, 0, 9)));
}

TEST_P(LatentAttentionTest, LargeScoresDoNotOverflow) {
  Case c = MakeCase(KvType::kF32, 6, 4, 16, 2, 12, 1.0);
  c.scale = 40.0f;
  for (float x : Attend(Ops(), c, 0, 6)) EXPECT_TRUE(std::isfinite(x) && std::fabs(x) <= 1.0f) << x;
}

HEARTH_OP_TESTS(LatentAttentionTest);

class StoreLatentsTest : public OpTest {};

TEST_P(StoreLatentsTest, WritesRoundedRowsAndNothingElse) {
  for (KvType type : {KvType::kF32, KvType::kF16}) {
    for (Dim rank : {1, 7, 8, 37}) {
      PagedRows paged(3, 40, 8, 11);
      for (Dim r = 0; r < 100; ++r) paged.Add(r % 3, r / 3);
      Numbers numbers(static_cast<uint64_t>(rank));
      const Floats latents = numbers.Some(100 * rank, 3.0);
      KvPool pool(type, paged.page_count() * 8 * rank), want(type, paged.page_count() * 8 * rank);
      for (Dim r = 0; r < 100; ++r) {
        for (Dim i = 0; i < rank; ++i) want.Set(paged.Slot(r % 3, r / 3) * rank + i, latents[r * rank + i]);
      }
      Ops().store_latents(nullptr, {latents.data(), 100, rank, paged.Where(), type, pool.data()});
      EXPECT_EQ(pool.bytes(), want.bytes()) << "rank " << rank;
    }
  }
}

HEARTH_OP_TESTS(StoreLatentsTest);

}  // namespace
}  // namespace hearth::kernels
