#pragma once

#include "kernels/kda/kda.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {

// A sequence of prepared rows for the delta rule, run in pieces by either form.
struct KdaRuleCase {
  Dim rows, heads, dim;
  Floats qkv, g, beta, state;  // state before the first row

  Dim width() const { return heads * dim; }
};

enum class Gates { kNearZero, kAtBound, kSpread, kSteep };

inline KdaRuleCase MakeKdaRuleCase(Dim rows, Dim heads, Dim dim, Gates gates, uint64_t seed = 1) {
  Numbers numbers(seed + static_cast<uint64_t>(rows * 31 + heads * 7 + dim));
  KdaRuleCase c{rows, heads, dim, numbers.Some(rows * 3 * heads * dim), {}, {}, {}};
  for (Dim r = 0; r < rows; ++r) {  // q and k of every head get length dim^-0.5 and 1
    for (Dim part = 0; part < 2 * heads; ++part) {
      float* x = c.qkv.data() + r * 3 * c.width() + part * dim;
      double squares = 1e-6;
      for (Dim i = 0; i < dim; ++i) squares += static_cast<double>(x[i]) * x[i];
      const double factor = (part < heads ? 1.0 / std::sqrt(static_cast<double>(dim)) : 1.0) / std::sqrt(squares);
      for (Dim i = 0; i < dim; ++i) x[i] = static_cast<float>(x[i] * factor);
    }
  }
  for (Dim i = 0; i < rows * c.width(); ++i) {
    const double u = (numbers.Next() + 1.0) / 2.0;
    switch (gates) {
      case Gates::kNearZero:
        c.g.push_back(static_cast<float>(-1e-3 * u));
        break;
      case Gates::kAtBound:
        c.g.push_back(-5.0f);
        break;
      case Gates::kSpread:
        c.g.push_back(static_cast<float>(-5.0 * u * u * u * u));
        break;
      case Gates::kSteep:
        c.g.push_back(static_cast<float>(u < 0.1 ? -40.0 : -0.1 * u));
        break;
    }
  }
  for (Dim i = 0; i < rows * heads; ++i) c.beta.push_back(static_cast<float>((numbers.Next() + 1.0) / 2.0));
  c.state = numbers.Some(heads * dim * dim, 0.5);
  return c;
}

struct KdaRuleResult {
  Floats o, state;
};

// Runs rows [first, first + count) that stand at position `position`.
inline KdaRuleResult RunKdaRule(void (*op)(void*, const KdaRuleArgs&), const KdaRuleCase& c, Dim first, Dim count,
                                Dim position, Floats state) {
  KdaRuleResult result{Poisoned(count * c.width()), std::move(state)};
  KdaSegment segment{0, count, position, nullptr, result.state.data()};
  KdaRuleArgs args;
  args.qkv = c.qkv.data() + first * 3 * c.width();
  args.g = c.g.data() + first * c.width();
  args.beta = c.beta.data() + first * c.heads;
  args.segments = &segment;
  args.segment_count = 1;
  args.heads = c.heads;
  args.dim = c.dim;
  args.o = result.o.data();
  op(nullptr, args);
  return result;
}

// The same sequence cut into pieces of the given lengths; the last one takes what is left.
inline KdaRuleResult RunKdaPieces(void (*op)(void*, const KdaRuleArgs&), const KdaRuleCase& c, Dim position,
                                  const std::vector<Dim>& pieces) {
  KdaRuleResult whole{{}, c.state};
  Dim done = 0;
  for (size_t i = 0; done < c.rows; ++i) {
    const Dim count = std::min(c.rows - done, i < pieces.size() ? pieces[i] : c.rows);
    KdaRuleResult part = RunKdaRule(op, c, done, count, position + done, std::move(whole.state));
    whole.o.insert(whole.o.end(), part.o.begin(), part.o.end());
    whole.state = std::move(part.state);
    done += count;
  }
  return whole;
}

struct KdaRuleExpected {
  Doubles o, state;
};

// The recurrence in double precision, column by column.
inline KdaRuleExpected EvaluateKdaRule(const KdaRuleCase& c) {
  KdaRuleExpected out{Doubles(c.rows * c.width()), Doubles(c.state.begin(), c.state.end())};
  for (Dim h = 0; h < c.heads; ++h) {
    double* state = out.state.data() + h * c.dim * c.dim;
    for (Dim t = 0; t < c.rows; ++t) {
      const float* q = c.qkv.data() + t * 3 * c.width() + h * c.dim;
      const float* k = q + c.width();
      const float* v = k + c.width();
      const float* g = c.g.data() + t * c.width() + h * c.dim;
      for (Dim d = 0; d < c.dim; ++d) {
        double read = 0;
        for (Dim i = 0; i < c.dim; ++i) read += k[i] * (state[i * c.dim + d] *= std::exp(static_cast<double>(g[i])));
        const double u = c.beta[t * c.heads + h] * (v[d] - read);
        double o = 0;
        for (Dim i = 0; i < c.dim; ++i) o += q[i] * (state[i * c.dim + d] += k[i] * u);
        out.o[t * c.width() + h * c.dim + d] = o;
      }
    }
  }
  return out;
}

}  // namespace hearth::kernels
