#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"

// Speed of Linear by kind, bits and rows. Weights are far larger than the caches where a GEMV is measured, since that
// is how a decode step meets them; --small uses one matrix that stays in cache.
//   linear_bench [--threads N] [--small] [--repeats N]

namespace {

using hearth::Codebook;
using hearth::MatrixView;
using hearth::WeightKind;
using hearth::kernels::Dim;
using hearth::kernels::LinearArgs;

struct Pool {
  std::unique_ptr<std::byte, decltype(&std::free)> data{nullptr, &std::free};
  std::vector<uint16_t> scales = std::vector<uint16_t>(16384, 0x2000);
  std::vector<float> x, y;
  size_t bytes = 0;

  explicit Pool(size_t size) : x(512 * 4096), y(512 * 4096), bytes(size) {
    data.reset(static_cast<std::byte*>(std::aligned_alloc(4096, size)));
    std::mt19937_64 rng(1);
    // Normal numbers of moderate size in every element type, so that no arithmetic is slow or overflows.
    for (size_t i = 0; i < size; i += 8) {
      const uint64_t value = (rng() & 0x8FFF8FFF8FFF8FFFull) | 0x3000300030003000ull;
      std::memcpy(data.get() + i, &value, 8);
    }
    std::normal_distribution<float> normal;
    for (float& v : x) v = normal(rng);
  }
};

MatrixView Matrix(const Pool& pool, WeightKind kind, Codebook codebook, uint32_t bits, Dim in, Dim out) {
  MatrixView w;
  w.kind = kind;
  w.codebook = codebook;
  w.bits = bits;
  w.in_features = w.in_padded = in;
  w.out_features = w.out_padded = out;
  w.suh = w.svh = pool.scales.data();
  return w;
}

// With one thread the thread's own time, so that a busy machine does not show; else the wall clock.
double Now(int threads) {
  if (threads > 1) return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Median seconds of one call; consecutive calls walk through the pool.
double Measure(Pool& pool, MatrixView w, Dim rows, int repeats, bool small) {
  std::vector<double> seconds;
  const size_t step = static_cast<size_t>(w.bytes());
  size_t at = 0;
  for (int i = 0; i < repeats; ++i) {
    if (small || at + step > pool.bytes) at = 0;
    w.data = pool.data.get() + at;
    at += step;
    const double begin = Now(hearth::kernels::KernelThreads());
    hearth::kernels::Avx2Backend().linear(
        nullptr, LinearArgs{pool.x.data(), w.in_features, rows, w, pool.y.data(), w.out_features});
    seconds.push_back(Now(hearth::kernels::KernelThreads()) - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[repeats / 2];
}

void Print(const std::string& name, const MatrixView& w, Dim rows, double seconds) {
  const double weights = static_cast<double>(w.in_features) * static_cast<double>(w.out_features);
  std::printf("%-14s %5lldx%-5lld rows %3lld  %9.1f us  %6.2f Gweights/s  %6.2f GB/s  %7.1f GFLOP/s\n", name.c_str(),
              static_cast<long long>(w.in_features), static_cast<long long>(w.out_features),
              static_cast<long long>(rows), seconds * 1e6, weights / seconds * 1e-9,
              static_cast<double>(w.bytes()) / seconds * 1e-9,
              2 * weights * static_cast<double>(rows) / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  bool small = false;
  int threads = 1, repeats = 41;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) small = true;
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) threads = std::atoi(argv[++i]);
    if (std::strcmp(argv[i], "--repeats") == 0 && i + 1 < argc) repeats = std::max(1, std::atoi(argv[++i]));
  }
  if (!hearth::kernels::HostHasAvx2()) {
    std::fputs("linear_bench: this processor has no AVX2\n", stderr);
    return 1;
  }
  hearth::kernels::SetKernelThreads(threads);
  Pool pool(size_t{256} << 20);
  std::printf("threads %d\n", threads);
  for (const Dim rows : {1, 2, 4, 8, 128}) {
    for (uint32_t bits = 1; bits <= 8; ++bits) {
      const MatrixView w = Matrix(pool, WeightKind::kExl3, Codebook::kMul1, bits, 4096, 2048);
      Print("mul1 K=" + std::to_string(bits), w, rows, Measure(pool, w, rows, repeats, small));
    }
    const MatrixView mcg = Matrix(pool, WeightKind::kExl3, Codebook::kMcg, 4, 4096, 2048);
    Print("mcg K=4", mcg, rows, Measure(pool, mcg, rows, repeats, small));
    for (const WeightKind kind : {WeightKind::kF16, WeightKind::kBf16, WeightKind::kF32}) {
      const MatrixView w = Matrix(pool, kind, Codebook::kMul1, 0, 2048, 1024);
      const char* name = kind == WeightKind::kF16 ? "f16" : kind == WeightKind::kBf16 ? "bf16" : "f32";
      Print(name, w, rows, Measure(pool, w, rows, repeats, small));
    }
  }
  for (const Dim size : {128, 256, 512, 1024}) {
    const MatrixView w = Matrix(pool, WeightKind::kExl3, Codebook::kMul1, 4, size, size);
    Print("mul1 K=4", w, 1, Measure(pool, w, 1, 20 * repeats, true));
  }
  return 0;
}
