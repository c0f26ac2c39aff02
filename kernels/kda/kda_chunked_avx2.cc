#include "kernels/kda/kda.h"
#include "kernels/kda/kda_block_avx2.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_panel.h"
#include "kernels/simd/float_buffer.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kRows = KdaBlock::kRowBlock;

Dim Least(Dim a, Dim b) { return a < b ? a : b; }

// A panel of 16 value columns of the state, [dim, 16].
void LoadPanel(const float* state, Dim dim, Dim columns, float* panel) {
  for (Dim c = 0; c < dim; ++c) {
    for (Dim d = 0; d < kPanel; d += kLanes) {
      // Surplus lanes of the last panel read as 0, also where a whole vector lies past the end.
      const __m256 v = columns > d ? LoadFirst(state + c * dim + d, columns - d) : _mm256_setzero_ps();
      _mm256_storeu_ps(panel + c * kPanel + d, v);
    }
  }
}

void StoreRows(const float* panel, Dim rows, Dim stride, Dim columns, float* out) {
  for (Dim t = 0; t < rows; ++t) {
    for (Dim d = 0; d < columns; d += kLanes) {
      StoreFirst(out + t * stride + d, columns - d, _mm256_loadu_ps(panel + t * kPanel + d));
    }
  }
}

void Clear(float* panel, Dim rows) {
  for (Dim i = 0; i < rows * kPanel; i += kLanes) _mm256_storeu_ps(panel + i, _mm256_setzero_ps());
}

// u = beta (v - u), the right-hand side, where u holds K e^G S.
void RightHandSide(const KdaRuleArgs& args, const float* v, const float* beta, Dim rows, Dim columns, float* u) {
  const Dim v_stride = 3 * args.heads * args.dim;
  for (Dim t = 0; t < rows; ++t) {
    const __m256 factor = _mm256_set1_ps(beta[t * args.heads]);
    for (Dim d = 0; d < columns; d += kLanes) {
      const __m256 value = LoadFirst(v + t * v_stride + d, columns - d);
      float* at = u + t * kPanel + d;
      _mm256_storeu_ps(at, _mm256_mul_ps(factor, _mm256_sub_ps(value, _mm256_loadu_ps(at))));
    }
  }
}

// c[t] += or -= sum of a[t][s] u[s] over s < t, and s = t too if kSelf, within one row block.
template <bool kMinus, bool kSelf>
void Triangle(const float* a, Dim rows, const float* u, float* c) {
  for (Dim t = 0; t < rows; ++t) {
    PanelTile<1, kMinus>(a + t * kKdaBlock, kKdaBlock, u, kPanel, kSelf ? t + 1 : t, c + t * kPanel, kPanel);
  }
}

// Solves (1 + lower) U = u in place and adds attend U to o, row block after row block.
void SolveAndAttend(const KdaBlock& block, Dim rows, float* u, float* o) {
  for (Dim at = 0; at < rows; at += kRows) {
    const Dim here = Least(kRows, rows - at);
    const float* lower = block.lower + at * kKdaBlock;
    const float* attend = block.attend + at * kKdaBlock;
    float* u_here = u + at * kPanel;
    float* o_here = o + at * kPanel;
    PanelProduct<true>(lower, kKdaBlock, here, u, kPanel, at, u_here, kPanel);
    Triangle<true, false>(lower + at, here, u_here, u_here);
    PanelProduct<false>(attend, kKdaBlock, here, u, kPanel, at, o_here, kPanel);
    Triangle<false, true>(attend + at, here, u_here, o_here);
  }
}

// state = e^G state + carried keys^T U
void AdvanceState(const KdaBlock& block, Dim dim, Dim rows, const float* u, float* state) {
  for (Dim c = 0; c < dim; ++c) {
    const __m256 decay = _mm256_set1_ps(block.decay[c]);
    for (Dim d = 0; d < kPanel; d += kLanes) {
      float* at = state + c * kPanel + d;
      _mm256_storeu_ps(at, _mm256_mul_ps(decay, _mm256_loadu_ps(at)));
    }
  }
  PanelProduct<false>(block.k_carried, kKdaBlock, dim, u, kPanel, rows, state, kPanel);
}

// Panels [first, end) of the value columns of one head, over all rows of a segment.
void RunPanels(const KdaRuleArgs& args, const KdaSegment& segment, Dim head, Dim first, Dim end) {
  const FlushSubnormals flush;
  const Dim dim = args.dim, width = args.heads * dim, panel_size = dim * kPanel;
  FloatBuffer block_buffer(KdaBlockFloats(dim));
  FloatBuffer states((end - first) * panel_size);
  FloatBuffer rows_buffer(2 * kKdaBlock * kPanel);
  const KdaBlock block = PlaceKdaBlock(block_buffer.data(), dim);
  float* u = rows_buffer.data();
  float* o = u + kKdaBlock * kPanel;
  float* state = segment.state + head * dim * dim;
  const auto columns_of = [&](Dim panel) { return Least(kPanel, dim - panel * kPanel); };
  for (Dim p = first; p < end; ++p) {
    LoadPanel(state + p * kPanel, dim, columns_of(p), states.data() + (p - first) * panel_size);
  }

  for (Dim done = 0; done < segment.row_count;) {
    const Dim rows = Least(kKdaBlock - (segment.position + done) % kKdaBlock, segment.row_count - done);
    const Dim row = segment.row_begin + done;
    BuildKdaBlock(args, row, rows, head, block);
    for (Dim p = first; p < end; ++p) {
      const Dim column = head * dim + p * kPanel;
      float* s = states.data() + (p - first) * panel_size;
      Clear(u, 2 * kKdaBlock);
      PanelProduct<false>(block.k_decayed, block.padded, rows, s, kPanel, dim, u, kPanel);
      PanelProduct<false>(block.q_decayed, block.padded, rows, s, kPanel, dim, o, kPanel);
      RightHandSide(args, args.qkv + row * 3 * width + 2 * width + column, args.beta + row * args.heads + head, rows,
                    columns_of(p), u);
      SolveAndAttend(block, rows, u, o);
      StoreRows(o, rows, width, columns_of(p), args.o + row * width + column);
      AdvanceState(block, dim, rows, u, s);
    }
    done += rows;
  }

  for (Dim p = first; p < end; ++p) {
    StoreRows(states.data() + (p - first) * panel_size, dim, dim, columns_of(p), state + p * kPanel);
  }
}

}  // namespace

void KdaChunked(void*, const KdaRuleArgs& args) {
  // Heads first; with fewer of them than threads, the value columns of a head are shared out too, each part repeating
  // the work that does not touch the state. Columns never meet, so the split shows in no bit.
  const Dim panels = (args.dim + kPanel - 1) / kPanel, heads = args.segment_count * args.heads;
  if (heads == 0) return;
  const Dim parts = Least((KernelThreads() + heads - 1) / heads, panels);
  ParallelFor(heads * parts, [&](Dim task) {
    const Dim head = task / parts, part = task % parts;
    RunPanels(args, args.segments[head / args.heads], head % args.heads, part * panels / parts,
              (part + 1) * panels / parts);
  });
}

}  // namespace hearth::kernels::avx2
