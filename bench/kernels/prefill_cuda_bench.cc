#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/multiprocessors.h"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda_backend.h"
#include "kernels/linear/matrix_operands_cuda.h"

// The prefill side of linear, expert_batch and head_linear (and head_linear's decode side) at the real model's shapes:
// whole ops, then their steps alone. Median of CUDA event times; what is read is larger than the L2 cache or rotated.
//   prefill_cuda_bench [--repeats N] [--only TEXT]

namespace hearth::bench {
// Starts a kernel of nothing but mma; its number of operations.
double LaunchMmaOnly(cudaStream_t stream, float* out, int blocks);
}  // namespace hearth::bench

namespace {

using namespace hearth;
using namespace hearth::kernels;  // NOLINT: a small program
using hearth::kernels::cuda::GemmBlock;
using hearth::kernels::cuda::GemmJob;
using hearth::kernels::cuda::MatrixOperands;
using hearth::kernels::cuda::RowsJob;
using hearth::kernels::cuda::TilesJob;

int repeats = 21;
std::string only;
double copy_bytes_per_s = 1, mma_flop_per_s = 1, host_bytes_per_s = 1;

cudaStream_t Stream() { return static_cast<cudaStream_t>(CudaBackend().stream); }

double MedianSeconds(const std::function<void(int)>& call) {
  cudaEvent_t begin, end;
  CudaOrDie(cudaEventCreate(&begin), "event");
  CudaOrDie(cudaEventCreate(&end), "event");
  std::vector<float> ms(repeats);
  for (int i = 0; i < 2; ++i) call(i);
  for (int i = 0; i < repeats; ++i) {
    CudaOrDie(cudaEventRecord(begin, Stream()), "record");
    call(i);
    CudaOrDie(cudaEventRecord(end, Stream()), "record");
    CudaOrDie(cudaEventSynchronize(end), "synchronize");
    CudaOrDie(cudaEventElapsedTime(&ms[i], begin, end), "elapsed");
  }
  CudaOrDie(cudaEventDestroy(begin), "event");
  CudaOrDie(cudaEventDestroy(end), "event");
  std::nth_element(ms.begin(), ms.begin() + repeats / 2, ms.end());
  return ms[repeats / 2] * 1e-3;
}

bool Wanted(const std::string& name) { return only.empty() || name.find(only) != std::string::npos; }

void Report(const std::string& name, double seconds, double flop, double bytes, double byte_ceiling = 0) {
  std::printf("%-58s %10.1f us", name.c_str(), seconds * 1e6);
  if (flop > 0) {
    std::printf("  %7.1f TFLOP/s (%4.1f %% of mma)", flop / seconds * 1e-12, 100 * flop / seconds / mma_flop_per_s);
  }
  if (bytes > 0) {
    const double ceiling = byte_ceiling > 0 ? byte_ceiling : copy_bytes_per_s;
    std::printf("  %8.1f MB %7.1f GB/s (%4.1f %%)", bytes * 1e-6, bytes / seconds * 1e-9,
                100 * bytes / seconds / ceiling);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void* Allocate(size_t bytes) {
  void* memory = CudaBackend().memory->allocate(bytes);
  if (memory == nullptr) std::fprintf(stderr, "no room for %zu bytes on the device\n", bytes), std::exit(1);
  return memory;
}

// Normal fp16, bf16 and fp32 numbers of moderate size, whatever they are read as.
void FillDevice(void* memory, size_t bytes) {
  std::vector<uint32_t> some((std::min<size_t>(bytes, 1 << 24) + 3) / 4);
  std::mt19937 rng(1);
  for (uint32_t& word : some) word = (static_cast<uint32_t>(rng()) & 0x8FFF8FFFu) | 0x30003000u;
  for (size_t at = 0; at < bytes; at += some.size() * 4) {
    const size_t count = std::min(bytes - at, some.size() * 4);
    CudaOrDie(cudaMemcpy(static_cast<char*>(memory) + at, some.data(), count, cudaMemcpyDefault), "fill");
  }
}
template <typename T>
T* Filled(size_t count) {
  auto* memory = static_cast<T*>(Allocate(count * sizeof(T)));
  FillDevice(memory, count * sizeof(T));
  return memory;
}

struct Data {
  // x [8192, 16384], y [8192, 24576] and more; weights for every case
  float* x = Filled<float>(size_t{8192} * 64 * 512);
  float* y = Filled<float>(size_t{65536} * 4096);
  uint16_t* scales = Filled<uint16_t>(1 << 18);
  size_t weight_bytes = size_t{288} * 9437184;
  char* weights = Filled<char>(weight_bytes);
};

MatrixView Matrix(const Data& data, WeightKind kind, uint32_t bits, Dim in, Dim out) {
  MatrixView w;
  w.kind = kind;
  w.bits = bits;
  w.in_features = w.in_padded = in;
  w.out_features = out;
  w.out_padded = (out + 127) / 128 * 128;
  w.data = data.weights;
  if (kind == WeightKind::kExl3) w.suh = w.svh = data.scales;
  return w;
}

void Ceilings(const Data& data) {
  const size_t bytes = size_t{1} << 30;
  copy_bytes_per_s =
      2.0 * bytes / MedianSeconds([&](int) {
        CudaOrDie(cudaMemcpyAsync(data.weights, data.weights + bytes, bytes, cudaMemcpyDeviceToDevice, Stream()),
                  "copy");
      });
  double flop = 0;
  const double seconds =
      MedianSeconds([&](int) { flop = hearth::bench::LaunchMmaOnly(Stream(), data.y, 2 * cuda::Multiprocessors()); });
  mma_flop_per_s = flop / seconds;
  std::printf("ceilings: device copy %.0f GB/s (read + written), mma.sync %.1f TFLOP/s\n", copy_bytes_per_s * 1e-9,
              mma_flop_per_s * 1e-12);
}

void LinearCase(const Data& data, const char* what, WeightKind kind, uint32_t bits, Dim in, Dim out, Dim rows) {
  const std::string name = std::string("linear ") + what + " " + std::to_string(in) + " x " + std::to_string(out) +
                           " K " + std::to_string(bits) + " rows " + std::to_string(rows);
  if (!Wanted(name)) return;
  const MatrixView w = Matrix(data, kind, bits, in, out);
  const double seconds = MedianSeconds([&](int) {
    CudaBackend().linear(
        CudaBackend().stream,
        {.x = data.x, .x_stride = in, .rows = rows, .w = w, .y = data.y, .y_stride = out, .phase = Phase::kPrefill});
  });
  Report(name, seconds, 2.0 * in * out * rows, 0);
}

void StepCases(const Data& data) {
  const Dim rows = 8192;
  for (const auto& [in, out, bits] :
       {std::tuple<Dim, Dim, uint32_t>{4096, 4096, 3}, {4096, 24576, 5}, {8192, 4096, 5}}) {
    const MatrixView w = Matrix(data, WeightKind::kExl3, bits, in, out);
    const std::string shape = std::to_string(in) + " x " + std::to_string(out);
    auto* rows16 = static_cast<__half*>(Allocate(rows * in * 2));
    auto* row_scales = static_cast<float*>(Allocate(rows * 4));
    auto* tiles = static_cast<uint4*>(Allocate(in * out * 2));
    const MatrixOperands operands(w, 1);
    RowsJob r = cuda::RowsJobOf(w, operands, rows);
    r.x = data.x, r.x_stride = in, r.out = rows16, r.inverse_scale = row_scales;
    TilesJob t = cuda::TilesJobOf(w, operands, 0, w.strips());
    t.tiles = tiles;
    GemmJob g = cuda::GemmJobOf(w, operands, 0, w.strips(), rows);
    g.x = rows16, g.tiles = tiles, g.row_scale = row_scales, g.y = data.y, g.y_stride = out;
    if (Wanted("step rotate " + shape)) {
      Report("step rotate, rows 8192, " + shape, MedianSeconds([&](int) {
               cuda::MakeRows(Stream(), {&r, 1});
             }),
             0, 6.0 * static_cast<double>(rows * in));
    }
    if (Wanted("step decode " + shape)) {
      const double seconds = MedianSeconds([&](int i) {
        t.data = data.weights + i % 8 * w.bytes();
        cuda::MakeTiles(Stream(), {&t, 1});
      });
      Report("step decode K " + std::to_string(bits) + " " + shape, seconds, 0,
             static_cast<double>(in * out * 2 + w.bytes()));
    }
    if (Wanted("step gemm " + shape)) {
      cuda::MakeRows(Stream(), {&r, 1});
      cuda::MakeTiles(Stream(), {&t, 1});
      for (const auto& [block, what] : {std::pair{GemmBlock::kNarrow, "narrow"},
                                        {GemmBlock::kWide, "wide"},
                                        {GemmBlock::kNarrowDeep, "narrow deep"},
                                        {GemmBlock::kWideDeep, "wide deep"}}) {
        if (!cuda::GemmBlockFits(block)) continue;
        const double seconds = MedianSeconds([&](int) { cuda::MultiplyTiles(Stream(), {&g, 1}, block); });
        Report(std::string("step gemm ") + what + ", rows 8192, " + shape, seconds,
               2.0 * static_cast<double>(rows * in * out), 0);
      }
    }
    for (void* memory : {static_cast<void*>(rows16), static_cast<void*>(row_scales), static_cast<void*>(tiles)}) {
      CudaBackend().memory->release(memory);
    }
  }
}

// `experts` experts at `records`, `rows` rows in all picking 8 each at random.
void ExpertCase(const Data& data, const std::string& name, const char* records, int experts, Dim rows, bool host) {
  if (!Wanted(name)) return;
  constexpr Dim kHidden = 4096, kWidth = 2048;
  std::mt19937 rng(2);
  std::vector<std::vector<int32_t>> x_row(experts), out_row(experts);
  for (Dim r = 0; r < rows; ++r) {
    for (int p = 0; p < 8; ++p) {
      const size_t e = rng() % experts;
      x_row[e].push_back(static_cast<int32_t>(r));
      out_row[e].push_back(static_cast<int32_t>(r * 8 + p));
    }
  }
  std::vector<ExpertJob> jobs;
  double bytes = 0;
  for (int e = 0; e < experts; ++e) {
    MlpView view{Matrix(data, WeightKind::kExl3, 3, kHidden, kWidth),
                 Matrix(data, WeightKind::kExl3, 3, kHidden, kWidth),
                 Matrix(data, WeightKind::kExl3, 3, kWidth, kHidden), 10.0f};
    const char* at = records + size_t{9437184} * e;
    for (MatrixView* w : {&view.gate, &view.up, &view.down}) w->data = at, at += w->bytes(), bytes += w->bytes();
    jobs.push_back({view, x_row[e].data(), out_row[e].data(), static_cast<Dim>(x_row[e].size())});
  }
  const double seconds = MedianSeconds([&](int) {
    CudaBackend().expert_batch(CudaBackend().stream, {.jobs = jobs.data(),
                                                      .job_count = experts,
                                                      .x = data.x,
                                                      .out = data.y,
                                                      .hidden = kHidden,
                                                      .phase = Phase::kPrefill});
  });
  Report(name, seconds, 2.0 * 3 * kHidden * kWidth * static_cast<double>(rows * 8), bytes,
         host ? host_bytes_per_s : copy_bytes_per_s / 2);
}

void HostExpertCases(const Data& data) {
  constexpr int kExperts = 32;
  const size_t bytes = size_t{kExperts} * 9437184;
  void* host = nullptr;
  CudaOrDie(cudaHostAlloc(&host, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  std::mt19937 rng(3);
  for (size_t i = 0; i < bytes / 4; ++i) static_cast<uint32_t*>(host)[i] = static_cast<uint32_t>(rng());
  host_bytes_per_s = static_cast<double>(bytes) / MedianSeconds([&](int) {
                       CudaOrDie(cudaMemcpyAsync(data.y, host, bytes, cudaMemcpyHostToDevice, Stream()), "copy");
                     });
  std::printf("ceiling: host to device by the copy engine %.1f GB/s\n", host_bytes_per_s * 1e-9);
  ExpertCase(data, "expert batch, 32 experts x 227 rows, mapped host", static_cast<char*>(host), kExperts, 908, true);
  CudaOrDie(cudaFreeHost(host), "cudaFreeHost");
}

void HeadCase(const Data& data, Dim in, Dim out, Dim rows, Phase phase) {
  const bool decode = phase == Phase::kDecode;
  const std::string name = std::string("head_linear ") + (decode ? "decode" : "prefill") + " 64 x " +
                           std::to_string(in) + " x " + std::to_string(out) + " rows " + std::to_string(rows);
  if (!Wanted(name)) return;
  const Dim weights = 64 * in * out;
  const double seconds = MedianSeconds([&](int i) {
    const auto* w = reinterpret_cast<const float*>(data.weights) + (decode ? i % 16 : 0) * weights;
    CudaBackend().head_linear(
        CudaBackend().stream,
        {.x = data.x, .rows = rows, .heads = 64, .in = in, .out = out, .w = w, .y = data.y, .phase = phase});
  });
  Report(name, seconds, decode ? 0 : 2.0 * static_cast<double>(weights * rows),
         decode ? 4.0 * static_cast<double>(weights) : 0, copy_bytes_per_s);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  if (const std::string problem = CudaProblem(); !problem.empty()) {
    std::fprintf(stderr, "prefill_cuda_bench: %s\n", problem.c_str());
    return 1;
  }
  std::printf("device: %s\n", DescribeCudaDevice().name.c_str());
  const Data data;
  Ceilings(data);
  StepCases(data);
  for (const Dim rows : {8192, 1024, 64}) {
    LinearCase(data, "qkv", WeightKind::kExl3, 5, 4096, 24576, rows);
    LinearCase(data, "KDA o", WeightKind::kExl3, 5, 8192, 4096, rows);
    LinearCase(data, "MLA o", WeightKind::kExl3, 5, 16384, 4096, rows);
    LinearCase(data, "q_b", WeightKind::kExl3, 5, 1536, 16384, rows);
    LinearCase(data, "mlp gate", WeightKind::kExl3, 4, 4096, 12288, rows);
    LinearCase(data, "mlp down", WeightKind::kExl3, 4, 12288, 4096, rows);
    LinearCase(data, "f_a, plain f16", WeightKind::kF16, 16, 4096, 128, rows);
    LinearCase(data, "f_b, plain f16", WeightKind::kF16, 16, 128, 8192, rows);
  }
  ExpertCase(data, "expert batch, 288 experts x 227 rows, VRAM", data.weights, 288, 8192, false);
  ExpertCase(data, "expert batch, 288 experts x 28 rows, VRAM", data.weights, 288, 1024, false);
  HostExpertCases(data);
  HeadCase(data, 256, 512, 1, Phase::kDecode);
  HeadCase(data, 256, 512, 8, Phase::kDecode);
  HeadCase(data, 512, 256, 1, Phase::kDecode);
  HeadCase(data, 256, 512, 8192, Phase::kPrefill);
  HeadCase(data, 512, 256, 8192, Phase::kPrefill);
  std::printf("scratch: %.0f MiB\n", static_cast<double>(cuda::ScratchBytes()) / (1 << 20));
  return 0;
}
