#include "kernels/kda/kda_block_avx2.h"

#include "kernels/simd/avx2_panel.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kRows = KdaBlock::kRowBlock;
static_assert(kRows == kLanes, "the transposition works on squares of 8");

// The rows of a row block, channels padded with 0.
struct RowBlock {
  float *k, *q, *g;          // [8, padded]
  float *k_local, *q_local;  // [8, padded] each: times e^{sum of g from the start of the row block}
  float* products;           // [16, 64]
};

RowBlock Place(float* work, Dim padded) {
  const Dim size = kRows * padded;
  return {work, work + size, work + 2 * size, work + 3 * size, work + 4 * size, work + 5 * size};
}

void Copy(const float* from, Dim n, Dim padded, float* to) {
  for (Dim c = 0; c < padded; c += kLanes) _mm256_storeu_ps(to + c, LoadFirst(from + c, n - c));
}

// Local and block-wide decays of the rows; the decay of the whole row block goes to `step`.
void DecayRows(const RowBlock& r, Dim rows, Dim at, const KdaBlock& block, float* step) {
  const Dim padded = block.padded;
  for (Dim c = 0; c < padded; c += kLanes) {
    const __m256 before = _mm256_loadu_ps(block.decay + c);
    __m256 sum = _mm256_setzero_ps(), e = _mm256_setzero_ps();
    for (Dim t = 0; t < rows; ++t) {
      sum = _mm256_add_ps(sum, _mm256_loadu_ps(r.g + t * padded + c));
      e = Exp8(sum);
      const __m256 k = _mm256_mul_ps(_mm256_loadu_ps(r.k + t * padded + c), e);
      const __m256 q = _mm256_mul_ps(_mm256_loadu_ps(r.q + t * padded + c), e);
      _mm256_storeu_ps(r.k_local + t * padded + c, k);
      _mm256_storeu_ps(r.q_local + t * padded + c, q);
      _mm256_storeu_ps(block.k_decayed + (at + t) * padded + c, _mm256_mul_ps(before, k));
      _mm256_storeu_ps(block.q_decayed + (at + t) * padded + c, _mm256_mul_ps(before, q));
    }
    _mm256_storeu_ps(step + c, e);
  }
}

// Entries of the rows against all earlier row blocks: a plain product, for k_carried is decayed up to here.
void EarlierColumns(const RowBlock& r, Dim rows, Dim at, const float* beta, Dim beta_stride, const KdaBlock& block) {
  for (Dim column = 0; column < at; column += kPanel) {
    float* k_products = r.products + column;
    float* q_products = k_products + kRows * kKdaBlock;
    for (Dim t = 0; t < rows; ++t) {
      for (Dim s = 0; s < kPanel; s += kLanes) {
        _mm256_storeu_ps(k_products + t * kKdaBlock + s, _mm256_setzero_ps());
        _mm256_storeu_ps(q_products + t * kKdaBlock + s, _mm256_setzero_ps());
      }
    }
    const float* carried = block.k_carried + column;
    PanelProduct<false>(r.k_local, block.padded, rows, carried, kKdaBlock, block.padded, k_products, kKdaBlock);
    PanelProduct<false>(r.q_local, block.padded, rows, carried, kKdaBlock, block.padded, q_products, kKdaBlock);
  }
  for (Dim t = 0; t < rows; ++t) {
    const __m256 factor = _mm256_set1_ps(beta[t * beta_stride]);
    const float* k_products = r.products + t * kKdaBlock;
    const float* q_products = k_products + kRows * kKdaBlock;
    for (Dim s = 0; s < at; s += kLanes) {
      _mm256_storeu_ps(block.lower + (at + t) * kKdaBlock + s, _mm256_mul_ps(factor, _mm256_loadu_ps(k_products + s)));
      _mm256_storeu_ps(block.attend + (at + t) * kKdaBlock + s, _mm256_loadu_ps(q_products + s));
    }
  }
}

// Entries of the rows among themselves: the decay between two rows is the exponential of the sum of g between them.
void DiagonalColumns(const RowBlock& r, Dim rows, Dim at, const float* beta, Dim beta_stride, const KdaBlock& block) {
  const Dim padded = block.padded;
  for (Dim s = 0; s < rows; ++s) {
    __m256 by_k[kRows], by_q[kRows];
    for (Dim t = s; t < rows; ++t) by_k[t] = by_q[t] = _mm256_setzero_ps();
    for (Dim c = 0; c < padded; c += kLanes) {
      const __m256 k = _mm256_loadu_ps(r.k + s * padded + c);
      by_q[s] = _mm256_fmadd_ps(_mm256_loadu_ps(r.q + s * padded + c), k, by_q[s]);
      __m256 sum = _mm256_setzero_ps();
      for (Dim t = s + 1; t < rows; ++t) {
        sum = _mm256_add_ps(sum, _mm256_loadu_ps(r.g + t * padded + c));
        const __m256 decayed = _mm256_mul_ps(k, Exp8(sum));
        by_k[t] = _mm256_fmadd_ps(_mm256_loadu_ps(r.k + t * padded + c), decayed, by_k[t]);
        by_q[t] = _mm256_fmadd_ps(_mm256_loadu_ps(r.q + t * padded + c), decayed, by_q[t]);
      }
    }
    for (Dim t = s; t < rows; ++t) {
      const Dim entry = (at + t) * kKdaBlock + at + s;
      block.attend[entry] = Sum8(by_q[t]);
      block.lower[entry] = beta[t * beta_stride] * Sum8(by_k[t]);
    }
  }
}

void Transpose8(__m256* v) {
  __m256 a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xEE);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
}

// Decays the carried keys past this row block and adds its own.
void CarryKeys(const RowBlock& r, Dim rows, Dim at, const float* step, const KdaBlock& block) {
  const Dim padded = block.padded;
  for (Dim c = 0; c < padded; c += kLanes) {
    __m256 own[kRows];
    __m256 sum = _mm256_setzero_ps();
    for (Dim s = kRows - 1; s >= 0; --s) {
      own[s] = _mm256_setzero_ps();
      if (s >= rows) continue;
      own[s] = _mm256_mul_ps(_mm256_loadu_ps(r.k + s * padded + c), Exp8(sum));
      sum = _mm256_add_ps(sum, _mm256_loadu_ps(r.g + s * padded + c));
    }
    Transpose8(own);
    for (Dim i = 0; i < kLanes; ++i) {
      float* line = block.k_carried + (c + i) * kKdaBlock;
      const __m256 factor = _mm256_set1_ps(step[c + i]);
      for (Dim s = 0; s < at; s += kLanes) _mm256_storeu_ps(line + s, _mm256_mul_ps(factor, _mm256_loadu_ps(line + s)));
      _mm256_storeu_ps(line + at, own[i]);
    }
    _mm256_storeu_ps(block.decay + c, _mm256_mul_ps(_mm256_loadu_ps(block.decay + c), _mm256_loadu_ps(step + c)));
  }
}

}  // namespace

Dim KdaBlockWork(Dim padded) { return (5 * kRows + 1) * padded + 2 * kRows * kKdaBlock; }

Dim KdaBlockFloats(Dim dim) {
  const Dim padded = (dim + kLanes - 1) / kLanes * kLanes;
  return (3 * kKdaBlock + 1) * padded + 2 * kKdaBlock * kKdaBlock + KdaBlockWork(padded);
}

KdaBlock PlaceKdaBlock(float* buffer, Dim dim) {
  KdaBlock block;
  block.padded = (dim + kLanes - 1) / kLanes * kLanes;
  const auto take = [&](Dim count) {
    float* part = buffer;
    buffer += count;
    return part;
  };
  block.lower = take(kKdaBlock * kKdaBlock);
  block.attend = take(kKdaBlock * kKdaBlock);
  block.k_carried = take(block.padded * kKdaBlock);
  block.k_decayed = take(kKdaBlock * block.padded);
  block.q_decayed = take(kKdaBlock * block.padded);
  block.decay = take(block.padded);
  block.work = take(KdaBlockWork(block.padded));
  // Whole panels of carried keys are read, the columns of rows to come included.
  for (Dim i = 0; i < block.padded * kKdaBlock; ++i) block.k_carried[i] = 0.0f;
  return block;
}

void BuildKdaBlock(const KdaRuleArgs& args, Dim first_row, Dim rows, Dim head, const KdaBlock& block) {
  const Dim dim = args.dim, width = args.heads * dim, padded = block.padded;
  const RowBlock r = Place(block.work, padded);
  float* step = r.products + 2 * kRows * kKdaBlock;
  for (Dim c = 0; c < padded; ++c) block.decay[c] = 1.0f;
  for (Dim at = 0; at < rows; at += kRows) {
    const Dim here = rows - at < kRows ? rows - at : kRows;
    const Dim row = first_row + at;
    for (Dim t = 0; t < here; ++t) {
      const float* q = args.qkv + (row + t) * 3 * width + head * dim;
      Copy(q, dim, padded, r.q + t * padded);
      Copy(q + width, dim, padded, r.k + t * padded);
      Copy(args.g + (row + t) * width + head * dim, dim, padded, r.g + t * padded);
    }
    const float* beta = args.beta + row * args.heads + head;
    DecayRows(r, here, at, block, step);
    EarlierColumns(r, here, at, beta, args.heads, block);
    DiagonalColumns(r, here, at, beta, args.heads, block);
    CarryKeys(r, here, at, step, block);
  }
}

}  // namespace hearth::kernels::avx2
