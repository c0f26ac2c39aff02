#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"

namespace hearth::kernels {

// Helpers of the op tests: numbers, poisoned outputs, comparison, and both host backends as parameters.

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// Numbers in [-1, 1) from a counter hash: the same on every machine.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  double Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 40) * 0x1p-23 - 1.0;
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>((Next() + 1.0) / 2.0 * static_cast<double>(n)); }
  Floats Some(int64_t count, double scale = 1.0, double mean = 0.0) {
    Floats out(static_cast<size_t>(count));
    for (float& x : out) x = static_cast<float>(mean + scale * Next());
    return out;
  }

 private:
  uint64_t state_;
};

// An output nobody has written: every entry is NaN.
inline Floats Poisoned(int64_t count) {
  return Floats(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
}

inline double Sigma(double z) { return 1.0 / (1.0 + std::exp(-z)); }

// |got - want| <= relative * the largest |want| everywhere, or the worst place.
inline ::testing::AssertionResult Close(const Floats& got, const Doubles& want, double relative) {
  if (got.size() != want.size()) return ::testing::AssertionFailure() << got.size() << " against " << want.size();
  double largest = 0, worst = 0;
  size_t at = 0;
  for (double w : want) largest = std::max(largest, std::fabs(w));
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - want[i]);
    if (!(error <= worst)) worst = error, at = i;  // also for NaN
    if (std::isnan(error)) break;
  }
  if (worst <= relative * largest) return ::testing::AssertionSuccess() << worst / largest;
  return ::testing::AssertionFailure() << "entry " << at << " of " << want.size() << ": " << got[at] << ", wanted "
                                       << want[at] << "; error " << worst / largest << " of the largest value "
                                       << largest << ", allowed " << relative;
}

inline ::testing::AssertionResult SameBits(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " against " << b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "entry " << i << ": " << a[i] << " against " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// rows [first, first + count) of a matrix
inline Floats Rows(const Floats& x, int64_t width, int64_t first, int64_t count) {
  return Floats(x.begin() + first * width, x.begin() + (first + count) * width);
}

// Restores the number of threads.
class ThreadsForTest {
 public:
  explicit ThreadsForTest(int threads) : before_(KernelThreads()) { SetKernelThreads(threads); }
  ~ThreadsForTest() { SetKernelThreads(before_); }

 private:
  int before_;
};

class OpTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "avx2" && !HostHasAvx2()) GTEST_SKIP() << "this machine has no AVX2";
  }
  const Backend& Ops() const { return GetParam() == "avx2" ? Avx2Backend() : RefBackend(); }
};

}  // namespace hearth::kernels

#define HEARTH_OP_TESTS(suite)                                            \
  INSTANTIATE_TEST_SUITE_P(Host, suite, ::testing::Values("ref", "avx2"), \
                           [](const ::testing::TestParamInfo<std::string>& one) { return one.param; })
