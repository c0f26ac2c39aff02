#include "kernels/indexer/indexer.h"
#include "tests/kernels/support/paged.h"

namespace hearth::kernels {
namespace {

class IndexSelectTest : public OpTest {};

struct Case {
  Dim heads, dim, kpool, page_tokens, max_selected;
  PagedRows paged;
  KvPool pool;
  Floats iq, head_weight, keys;  // keys of sequence 1
};

Case MakeCase(KvType type, Dim heads, Dim dim, Dim kpool, Dim page_tokens, Dim max_selected,
              const std::vector<Dim>& positions) {
  const Dim tokens = *std::max_element(positions.begin(), positions.end()) + 1;
  Numbers numbers(static_cast<uint64_t>(heads + dim * 10 + kpool * 1000));
  PagedRows paged(2, tokens, page_tokens, 21);
  for (Dim position : positions) paged.Add(1, position);
  const Dim rows = paged.rows(), per_page = page_tokens / kpool;
  Case c{heads,
         dim,
         kpool,
         page_tokens,
         max_selected,
         paged,
         KvPool(type, paged.page_count() * per_page * dim),
         numbers.Some(rows * heads * dim),
         numbers.Some(rows * heads),
         numbers.Some(tokens / kpool * dim)};
  return c;
}

void StoreKeys(Case* c) {
  for (size_t i = 0; i < c->keys.size(); ++i) {
    const Dim p = static_cast<Dim>(i) / c->dim, slot = c->paged.Slot(1, p * c->kpool);
    const Dim place = slot / c->page_tokens * (c->page_tokens / c->kpool) + slot % c->page_tokens / c->kpool;
    c->pool.Set(place * c->dim + static_cast<Dim>(i) % c->dim, c->keys[i]);
  }
}

std::vector<std::vector<int32_t>> Select(const Backend& ops, Case& c, Dim first, Dim rows) {
  std::vector<int32_t> selected(rows * c.max_selected, -7), count(rows, -7);
  IndexSelectArgs args;
  args.iq = c.iq.data() + first * c.heads * c.dim;
  args.head_weight = c.head_weight.data() + first * c.heads;
  args.rows = rows;
  args.heads = c.heads;
  args.dim = c.dim;
  args.kpool = c.kpool;
  args.where = c.paged.Where(first);
  args.kv_type = c.pool.type();
  args.pool_keys = c.pool.data();
  args.max_selected = c.max_selected;
  args.selected = selected.data();
  args.selected_count = count.data();
  ops.index_select(nullptr, args);
  std::vector<std::vector<int32_t>> out;
  for (Dim r = 0; r < rows; ++r) {
    EXPECT_TRUE(count[r] >= 0 && count[r] <= c.max_selected);
    const auto begin = selected.begin() + r * c.max_selected;
    out.emplace_back(begin, begin + count[r]);
    EXPECT_TRUE(std::all_of(begin + count[r], begin + c.max_selected, [](int32_t p) { return p == -7; }));
  }
  return out;
}

// The choice in double precision; false if the margin at the border is too small for fp32 to decide.
bool Evaluate(const Case& c, Dim row, std::vector<int32_t>* want) {
  const Dim visible = (c.paged.position(row) + 1) / c.kpool;
  std::vector<std::pair<double, int32_t>> order;  // (-score, pool)
  for (Dim p = 0; p < visible; ++p) {
    double score = 0;
    for (Dim h = 0; h < c.heads; ++h) {
      double dot = 0;
      for (Dim i = 0; i < c.dim; ++i) {
        const float key = c.keys[p * c.dim + i];
        dot += c.iq[(row * c.heads + h) * c.dim + i] *
               static_cast<double>(c.pool.type() == KvType::kF16 ? F16ToFloat(FloatToF16(key)) : key);
      }
      score += c.head_weight[row * c.heads + h] / std::sqrt(static_cast<double>(c.heads)) *
               std::max(0.0, dot / std::sqrt(static_cast<double>(c.dim)));
    }
    order.emplace_back(-score, static_cast<int32_t>(p));
  }
  std::sort(order.begin(), order.end());  // equal scores: the lower pool first
  const Dim kept = std::min(visible, c.max_selected);
  want->clear();
  for (Dim i = 0; i < kept; ++i) want->push_back(order[i].second);
  std::sort(want->begin(), want->end());
  if (kept == visible) return true;
  const double inside = order[kept - 1].first, outside = order[kept].first;
  return (inside == 0 && outside == 0) || outside - inside > 1e-6;
}

std::vector<Dim> Positions(Dim count) {
  std::vector<Dim> positions;
  for (Dim i = 0; i < count; ++i) positions.push_back(i);
  return positions;
}

TEST_P(IndexSelectTest, KeepsTheBestVisiblePools) {
  for (KvType type : {KvType::kF32, KvType::kF16}) {
    for (Dim kpool : {1, 2, 3, 4}) {
      for (Dim heads : {1, 3, 4, 6}) {
        for (Dim dim : {4, 9, 128}) {
          Case c = MakeCase(type, heads, dim, kpool, 12, 11, Positions(200));
          StoreKeys(&c);
          const auto got = Select(Ops(), c, 0, 200);
          Dim decided = 0;
          for (Dim r = 0; r < 200; ++r) {
            std::vector<int32_t> want;
            if (!Evaluate(c, r, &want)) continue;
            ++decided;
            EXPECT_EQ(got[r], want) << "row " << r << ", pools of " << kpool << ", " << heads << " heads of " << dim;
          }
          EXPECT_GT(decided, 190);
        }
      }
    }
  }
}

TEST_P(IndexSelectTest, EqualScoresGoToTheLowerPool) {
  // Pool p has one of three keys, so scores tie all over; the third makes every head clip to 0.
  Case c = MakeCase(KvType::kF32, 2, 8, 2, 16, 10, {127});
  c.iq = Floats(16, 1.0f);
  c.head_weight = {1.0f, 1.0f};
  for (Dim p = 0; p < 64; ++p) {
    for (Dim i = 0; i < 8; ++i) c.keys[p * 8 + i] = p % 3 == 0 ? -1.0f : p % 16 == 1 ? 2.0f : 1.0f;
  }
  StoreKeys(&c);
  // Score 2: pools 1, 17, 33 (p % 3 == 0), 49 -> 1, 17, 49. Then seven of score 1, from below.
  EXPECT_EQ(Select(Ops(), c, 0, 1)[0], (std::vector<int32_t>{1, 2, 4, 5, 7, 8, 10, 11, 17, 49}));
}

TEST_P(IndexSelectTest, ZerosOfBothSignsAreOneScore) {
  // Clipped heads under weights of either sign: scores are +0 or -0, and the lower pools win.
  for (float weight : {-1.0f, 1.0f}) {
    Case c = MakeCase(KvType::kF32, 1, 4, 1, 8, 5, {40});
    c.iq = Floats(4, 1.0f);
    c.head_weight = {weight};
    for (float& key : c.keys) key = -1.0f;
    StoreKeys(&c);
    EXPECT_EQ(Select(Ops(), c, 0, 1)[0], (std::vector<int32_t>{0, 1, 2, 3, 4}));
  }
  // Negative scores lose against clipped ones.
  Case c = MakeCase(KvType::kF32, 1, 4, 1, 8, 5, {40});
  c.iq = Floats(4, 1.0f);
  c.head_weight = {-1.0f};
  for (Dim p = 0; p < 41; ++p) {
    for (Dim i = 0; i < 4; ++i) c.keys[p * 4 + i] = p < 30 ? 1.0f : -1.0f;
  }
  StoreKeys(&c);
  EXPECT_EQ(Select(Ops(), c, 0, 1)[0], (std::vector<int32_t>{30, 31, 32, 33, 34}));
}

TEST_P(IndexSelectTest, WithoutAChoiceNoKeyIsRead) {
  // Everything visible fits, and no key was ever stored: the pool is full of NaN.
  Case c = MakeCase(KvType::kF16, 4, 16, 4, 8, 6, {0, 2, 3, 22, 23, 26});
  const auto got = Select(Ops(), c, 0, 6);
  const size_t counts[] = {0, 0, 1, 5, 6, 6};
  for (size_t r = 0; r < 6; ++r) {
    ASSERT_EQ(got[r].size(), counts[r]);
    for (size_t i = 0; i < counts[r]; ++i) EXPECT_EQ(got[r][i], static_cast<int32_t>(i));
  }
}

TEST_P(IndexSelectTest, RowAloneChoosesTheSame) {
  Case c = MakeCase(KvType::kF32, 4, 24, 4, 20, 9, Positions(130));
  StoreKeys(&c);
  const auto all = Select(Ops(), c, 0, 130);
  for (Dim r = 0; r < 130; ++r) EXPECT_EQ(Select(Ops(), c, r, 1)[0], all[r]);
  ThreadsForTest one_thread(1);
  EXPECT_EQ(Select(Ops(), c, 0, 130), all);
}

HEARTH_OP_TESTS(IndexSelectTest);

}  // namespace
}  // namespace hearth::kernels
