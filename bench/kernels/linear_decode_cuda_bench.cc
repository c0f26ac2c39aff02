#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda_backend.h"

// Speed of `linear` and `expert_batch` in the decode phase at the shapes of the full model. Consecutive calls walk
// through more weights than any cache holds. Times are medians of single calls between events, launches included;
// `stream` runs the same calls back to back. Ceilings: a copy on the device, and the copy engine from host memory.
//   linear_decode_cuda_bench [--repeats N]

namespace {

using namespace hearth;
using namespace hearth::kernels;

int repeats = 41;

class Timer {
 public:
  explicit Timer(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {
    CudaOrDie(cudaEventCreate(&begin_), "cudaEventCreate");
    CudaOrDie(cudaEventCreate(&end_), "cudaEventCreate");
  }
  // Seconds that the device spends on `calls` calls of `work(i)`.
  template <typename Work>
  double Seconds(int calls, Work&& work) {
    CudaOrDie(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < calls; ++i) work(i);
    CudaOrDie(cudaEventRecord(end_, stream_), "cudaEventRecord");
    CudaOrDie(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    CudaOrDie(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return ms * 1e-3;
  }
  template <typename Work>
  double Median(Work&& work) {
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) work(i);
    for (int i = 0; i < repeats; ++i) seconds.push_back(Seconds(1, [&](int) { work(i + 3); }));
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    return seconds[repeats / 2];
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
};

struct Ceilings {
  double device = 0, host = 0;  // bytes per second read
};

struct Memory {
  unsigned char* weights = nullptr;  // on the device
  unsigned char* pinned = nullptr;   // on the host
  size_t bytes = 0, pinned_bytes = 0;
  uint16_t* scales = nullptr;  // 16384, all alike
  float *x = nullptr, *y = nullptr;
};

void* Allocate(const Backend& b, size_t bytes) {
  void* p = b.memory->allocate(bytes);
  if (p == nullptr) {
    std::fprintf(stderr, "no room for %zu bytes on the device\n", bytes);
    std::exit(1);
  }
  return p;
}

Memory Prepare(const Backend& b) {
  Memory m;
  m.bytes = size_t{2} << 30;
  m.pinned_bytes = size_t{512} << 20;
  m.weights = static_cast<unsigned char*>(Allocate(b, m.bytes));
  m.pinned = static_cast<unsigned char*>(b.memory->allocate_host(m.pinned_bytes));
  if (m.pinned == nullptr) {
    std::fputs("no room for 512 MiB of pinned memory\n", stderr);
    std::exit(1);
  }
  // Normal numbers of moderate size in every element type, so that nothing overflows.
  std::mt19937_64 rng(1);
  for (size_t i = 0; i < m.pinned_bytes; i += 8) {
    const uint64_t value = (rng() & 0x8FFF8FFF8FFF8FFFull) | 0x3000300030003000ull;
    std::memcpy(m.pinned + i, &value, 8);
  }
  for (size_t at = 0; at < m.bytes; at += m.pinned_bytes)
    b.memory->upload(b.stream, m.weights + at, m.pinned, m.pinned_bytes);
  std::vector<uint16_t> scales(160000, 0x2000);
  m.scales = static_cast<uint16_t*>(Allocate(b, scales.size() * 2));
  b.memory->upload(b.stream, m.scales, scales.data(), scales.size() * 2);
  std::vector<float> x(size_t{1024} * 16384);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < x.size(); ++i) x[i] = i < 65536 ? normal(rng) : x[i % 65536];
  m.x = static_cast<float*>(Allocate(b, x.size() * 4));
  b.memory->upload(b.stream, m.x, x.data(), x.size() * 4);
  m.y = static_cast<float*>(Allocate(b, size_t{1024} * 154880 * 4));
  b.memory->synchronize(b.stream);
  return m;
}

Ceilings MeasureCeilings(const Backend& b, const Memory& m) {
  Timer timer(b.stream);
  const size_t half = m.bytes / 2;
  Ceilings c;
  c.device = 2.0 * static_cast<double>(half) /
             timer.Median([&](int) { b.memory->copy(b.stream, m.weights + half, m.weights, half); });
  c.host = static_cast<double>(m.pinned_bytes) /
           timer.Median([&](int) { b.memory->upload(b.stream, m.weights, m.pinned, m.pinned_bytes); });
  std::printf("ceilings: device copy %.0f GB/s (read + write), copy engine from the host %.1f GB/s\n", c.device * 1e-9,
              c.host * 1e-9);
  return c;
}

MatrixView Matrix(const Memory& m, WeightKind kind, uint32_t bits, Dim in, Dim out) {
  MatrixView w;
  w.kind = kind;
  w.bits = bits;
  w.in_features = in;
  w.out_features = out;
  w.out_padded = (out + 127) / 128 * 128;
  w.in_padded = in;
  if (kind == WeightKind::kExl3) w.suh = w.svh = m.scales;
  return w;
}

// The i-th of the matrices or experts that fit into `size` bytes.
size_t Offset(size_t size, size_t step, int i) {
  const size_t slots = std::max<size_t>(1, size / step);
  return static_cast<size_t>(i) % slots * step;
}

void Print(const std::string& name, Dim rows, double alone, double chained, double bytes, double ceiling) {
  std::printf("%-34s rows %4d  %8.1f us  stream %8.1f us  %7.1f MB  %7.1f GB/s  %5.1f %% of ceiling\n", name.c_str(),
              static_cast<int>(rows), alone * 1e6, chained * 1e6, bytes * 1e-6, bytes / chained * 1e-9,
              100 * bytes / chained / ceiling);
  std::fflush(stdout);
}

void MeasureLinear(const Backend& b, const Memory& m, const Ceilings& c, const std::string& name, MatrixView w,
                   Dim rows) {
  Timer timer(b.stream);
  const size_t step = (static_cast<size_t>(w.bytes()) + 255) / 256 * 256;
  const auto call = [&](int i) {
    w.data = m.weights + Offset(m.bytes, step, i);
    b.linear(b.stream, {m.x, w.in_features, rows, w, m.y, w.out_features, Phase::kDecode});
  };
  const double alone = timer.Median(call);
  Print(name, rows, alone, timer.Seconds(repeats, call) / repeats, static_cast<double>(w.bytes()), c.device);
}

void MeasureExperts(const Backend& b, const Memory& m, const Ceilings& c, int experts, Dim rows, bool on_host) {
  Timer timer(b.stream);
  MlpView mlp{Matrix(m, WeightKind::kExl3, 3, 4096, 2048), Matrix(m, WeightKind::kExl3, 3, 4096, 2048),
              Matrix(m, WeightKind::kExl3, 3, 2048, 4096), 7.0f};
  const size_t part = static_cast<size_t>(mlp.gate.bytes()), record = 3 * part;
  std::vector<int32_t> x_rows, out_rows;
  for (int i = 0; i < 64; ++i) {
    x_rows.push_back(i % 8);
    out_rows.push_back(i);
  }
  const auto call = [&](int i) {
    std::vector<ExpertJob> jobs;
    for (int e = 0; e < experts; ++e) {
      const size_t at = Offset(on_host ? m.pinned_bytes : m.bytes, record, i * experts + e);
      const unsigned char* data = (on_host ? m.pinned : m.weights) + at;
      mlp.gate.data = data;
      mlp.up.data = data + part;
      mlp.down.data = data + 2 * part;
      jobs.push_back({mlp, x_rows.data(), out_rows.data() + e * rows, rows});
    }
    b.expert_batch(b.stream, {jobs.data(), experts, m.x, m.y, 4096, Phase::kDecode});
  };
  const double alone = timer.Median(call);
  const int calls = on_host ? std::min(repeats, 20) : repeats;
  Print(std::string(on_host ? "host memory, " : "device memory, ") + std::to_string(experts) + " expert(s) K=3", rows,
        alone, timer.Seconds(calls, call) / calls, static_cast<double>(record) * experts, on_host ? c.host : c.device);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::max(1, std::atoi(argv[i + 1]));
  }
  if (const std::string problem = CudaProblem(); !problem.empty()) {
    std::fprintf(stderr, "linear_decode_cuda_bench: %s\n", problem.c_str());
    return 1;
  }
  const CudaDevice device = DescribeCudaDevice();
  std::printf("device: %s, compute capability %d.%d, %d multiprocessors\n", device.name.c_str(), device.major,
              device.minor, device.multiprocessors);
  const Backend& b = CudaBackend();
  const Memory m = Prepare(b);
  const Ceilings c = MeasureCeilings(b, m);
  const auto exl3 = [&](uint32_t bits, Dim in, Dim out) { return Matrix(m, WeightKind::kExl3, bits, in, out); };
  const auto f16 = [&](Dim in, Dim out) { return Matrix(m, WeightKind::kF16, 0, in, out); };
  for (const Dim rows : {1, 2, 4, 8}) {
    MeasureLinear(b, m, c, "q k v    4096 -> 24576 K=5", exl3(5, 4096, 24576), rows);
    MeasureLinear(b, m, c, "o        8192 -> 4096 K=5", exl3(5, 8192, 4096), rows);
    MeasureLinear(b, m, c, "o (mla) 16384 -> 4096 K=5", exl3(5, 16384, 4096), rows);
    MeasureLinear(b, m, c, "q_a      4096 -> 1536 K=5", exl3(5, 4096, 1536), rows);
    MeasureLinear(b, m, c, "shared gate 4096 -> 2048 K=5", exl3(5, 4096, 2048), rows);
    MeasureLinear(b, m, c, "shared down 2048 -> 4096 K=5", exl3(5, 2048, 4096), rows);
    MeasureLinear(b, m, c, "dense gate 4096 -> 12288 K=4", exl3(4, 4096, 12288), rows);
    MeasureLinear(b, m, c, "f_a      4096 -> 128 f16", f16(4096, 128), rows);
    MeasureLinear(b, m, c, "f_b       128 -> 8192 f16", f16(128, 8192), rows);
    MeasureLinear(b, m, c, "head     4096 -> 154880 K=6", exl3(6, 4096, 154880), rows);
  }
  for (const Dim rows : {32, 1024}) MeasureLinear(b, m, c, "head     4096 -> 154880 K=6", exl3(6, 4096, 154880), rows);
  for (const bool on_host : {false, true}) {
    for (const int experts : {1, 3, 8}) MeasureExperts(b, m, c, experts, 1, on_host);
    for (const Dim rows : {2, 4, 8}) MeasureExperts(b, m, c, 8, rows, on_host);
  }
  return 0;
}
