#include "kernels/indexer/indexer.h"
#include "tests/kernels/support/paged.h"

namespace hearth::kernels {
namespace {

class IndexPoolTest : public OpTest {};

struct Case {
  Dim tokens, dim, kpool, page_tokens;
  Floats k_raw, gate, weight, bias, ape;
};

Case MakeCase(Dim tokens, Dim dim, Dim kpool, Dim page_tokens, double scale) {
  Numbers numbers(static_cast<uint64_t>(tokens + dim * 100 + kpool * 10));
  Case c{tokens, dim, kpool, page_tokens, numbers.Some(tokens * dim, scale), {}, {}, {}, {}};
  c.gate = numbers.Some(tokens * dim, 3.0);
  c.weight = numbers.Some(dim, 0.5, 1.0);
  c.bias = numbers.Some(dim, 0.5);
  c.ape = numbers.Some(kpool * dim, 1.0);
  return c;
}

// Runs one sequence in pieces; keys[pool * dim + c] of all complete pools comes back in order of pools.
Floats Keys(const Backend& ops, const Case& c, KvType type, const std::vector<Dim>& pieces) {
  PagedRows paged(2, c.tokens + c.page_tokens, c.page_tokens, 3);
  for (Dim t = 0; t < c.tokens; ++t) paged.Add(1, t);
  const Dim per_page = c.page_tokens / c.kpool;
  KvPool pool(type, paged.page_count() * per_page * c.dim);
  Floats tail = Poisoned(c.kpool * 2 * c.dim);
  Dim done = 0;
  for (size_t i = 0; done < c.tokens; ++i) {
    const Dim count = std::min(c.tokens - done, i < pieces.size() ? pieces[i] : c.tokens);
    const IndexSegment segment{0, count, tail.data()};
    IndexPoolArgs args;
    args.k_raw = c.k_raw.data() + done * c.dim;
    args.gate = c.gate.data() + done * c.dim;
    args.k_weight = c.weight.data();
    args.k_bias = c.bias.data();
    args.ape = c.ape.data();
    args.segments = &segment;
    args.segment_count = 1;
    args.dim = c.dim;
    args.kpool = c.kpool;
    args.where = paged.Where(done);
    args.kv_type = type;
    args.pool_keys = pool.data();
    ops.index_pool(nullptr, args);
    done += count;
  }
  Floats keys;
  size_t written = 0;
  for (Dim p = 0; p < c.tokens / c.kpool; ++p) {
    const Dim slot = paged.Slot(1, p * c.kpool);
    for (Dim i = 0; i < c.dim; ++i) {
      keys.push_back(pool.At((slot / c.page_tokens * per_page + slot % c.page_tokens / c.kpool) * c.dim + i));
    }
  }
  for (Dim i = 0; i < paged.page_count() * per_page * c.dim; ++i) written += !std::isnan(pool.At(i));
  EXPECT_EQ(written, keys.size());  // nothing beside the places of complete pools
  return keys;
}

Doubles Evaluate(const Case& c) {
  const auto key = [&](Dim t, Dim i) {
    const float* x = c.k_raw.data() + t * c.dim;
    double mean = 0, variance = 0;
    for (Dim j = 0; j < c.dim; ++j) mean += x[j] / static_cast<double>(c.dim);
    for (Dim j = 0; j < c.dim; ++j) variance += (x[j] - mean) * (x[j] - mean) / static_cast<double>(c.dim);
    return (x[i] - mean) / std::sqrt(variance + 1e-6) * c.weight[i] + c.bias[i];
  };
  Doubles want;
  for (Dim p = 0; p < c.tokens / c.kpool; ++p) {
    for (Dim i = 0; i < c.dim; ++i) {
      double sum = 0, mixed = 0;
      for (Dim j = 0; j < c.kpool; ++j) {
        const Dim t = p * c.kpool + j;
        const double weight = std::exp(static_cast<double>(c.gate[t * c.dim + i]) + c.ape[j * c.dim + i]);
        sum += weight;
        mixed += weight * key(t, i);
      }
      want.push_back(mixed / sum);
    }
  }
  return want;
}

TEST_P(IndexPoolTest, EqualsTheFormulaInDoublePrecision) {
  for (Dim kpool : {1, 2, 3, 4}) {
    for (Dim dim : {1, 5, 8, 30, 128}) {
      for (double scale : {2e-3, 1.0}) {  // the small one lets the epsilon of the LayerNorm decide
        const Case c = MakeCase(26, dim, kpool, 12, scale);
        const Doubles want = Evaluate(c);
        EXPECT_TRUE(Close(Keys(Ops(), c, KvType::kF32, {}), want, 3e-6)) << "pools of " << kpool << ", dim " << dim;
        EXPECT_TRUE(Close(Keys(Ops(), c, KvType::kF16, {}), want, 6e-4)) << "pools of " << kpool << ", dim " << dim;
      }
    }
  }
}

TEST_P(IndexPoolTest, AnyCutHasTheSameBits) {
  for (Dim kpool : {1, 2, 3, 4}) {
    const Case c = MakeCase(150, 20, kpool, 36, 1.0);
    for (KvType type : {KvType::kF32, KvType::kF16}) {
      const Floats whole = Keys(Ops(), c, type, {});
      for (const std::vector<Dim>& pieces :
           {std::vector<Dim>{1}, {2}, {7, 1}, {64}, {65}, std::vector<Dim>(150, 1), std::vector<Dim>(50, 3)}) {
        EXPECT_TRUE(SameBits(Keys(Ops(), c, type, pieces), whole));
      }
    }
  }
}

TEST_P(IndexPoolTest, SegmentsHaveTheirOwnTail) {
  // Two sequences in one call, the second in the middle of a pool.
  const Case c = MakeCase(6, 9, 4, 8, 1.0);
  const Floats alone = Keys(Ops(), c, KvType::kF32, {});
  PagedRows paged(2, 8, 8, 1);
  for (Dim t = 0; t < 3; ++t) paged.Add(0, t);
  for (Dim t = 0; t < 3; ++t) paged.Add(1, t);
  paged.Add(0, 3);
  paged.Add(1, 3);
  KvPool pool(KvType::kF32, 2 * 2 * 9);
  Floats tails[2] = {Poisoned(4 * 2 * 9), Poisoned(4 * 2 * 9)};
  Floats k_raw, gate;
  for (Dim t : {0, 1, 2, 0, 1, 2, 3, 3}) {
    const Floats k = Rows(c.k_raw, 9, t, 1), e = Rows(c.gate, 9, t, 1);
    k_raw.insert(k_raw.end(), k.begin(), k.end());
    gate.insert(gate.end(), e.begin(), e.end());
  }
  for (Dim call = 0; call < 2; ++call) {
    const Dim rows = call == 0 ? 3 : 1, first = call == 0 ? 0 : 6;
    const IndexSegment segments[2] = {{0, rows, tails[0].data()}, {rows, rows, tails[1].data()}};
    Ops().index_pool(nullptr, {k_raw.data() + first * 9, gate.data() + first * 9, c.weight.data(), c.bias.data(),
                               c.ape.data(), segments, 2, 9, 4, paged.Where(first), KvType::kF32, pool.data()});
  }
  for (Dim s = 0; s < 2; ++s) {
    for (Dim i = 0; i < 9; ++i) EXPECT_EQ(pool.At(paged.Slot(s, 0) / 8 * 2 * 9 + i), alone[i]);
  }
}

HEARTH_OP_TESTS(IndexPoolTest);

}  // namespace
}  // namespace hearth::kernels
