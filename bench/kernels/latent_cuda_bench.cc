#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/kernels/cuda_op_timing.h"

// Speed of latent attention, indexer, router and combine on the GPU at the real model's shapes: median of 25 calls
// between CUDA events. Inputs rotate through copies that together exceed the cache, as consecutive layers do. Ceilings
// come from the same run: a device copy for bytes, mma.sync alone for products. `bytes` are what an op must read and
// write at least.
//   latent_cuda_bench [rows ...]      default: 1 8 2048; 64 rows and more are measured as prefill

namespace hearth::bench {
double LaunchMmaOnly(cudaStream_t stream, float* out, int blocks);  // mma_ceiling.cu
}

namespace {

using hearth::bench::MeasureCopyRate;
using hearth::bench::Median;
using hearth::bench::Stream;
using hearth::bench::Values;
using hearth::kernels::Backend;
using hearth::kernels::CudaBackend;
using hearth::kernels::CudaOrDie;
using hearth::kernels::DeviceArray;
using hearth::kernels::Dim;
using hearth::kernels::KvType;
using hearth::kernels::Phase;
using hearth::kernels::RowPages;

constexpr Dim kHidden = 4096, kHeads = 64, kRank = 512, kPool = 4, kPools = 512, kPageTokens = 256;
constexpr Dim kIndexHeads = 32, kIndexDim = 128, kExperts = 288, kTopK = 8, kContext = 131072;

uint32_t Hash(Dim i) { return static_cast<uint32_t>((static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u >> 40); }
// In [-1, 1).
float Random(Dim i) { return static_cast<float>(Hash(i)) * 0x1p-23f - 1.0f; }
// f16 bits of numbers of size 0.5 to 1, of either sign.
uint16_t RandomF16(Dim i) { return static_cast<uint16_t>(0x3800u | (Hash(i) & 0x83FFu)); }

double g_copy_rate = 0, g_product_rate = 0;  // bytes and f16 operations per microsecond

void MeasureCeilings() {
  g_copy_rate = MeasureCopyRate();
  DeviceArray<float> sums(CudaBackend());
  sums.Grow(Dim{64} << 20);
  double operations = 0;
  const int blocks = hearth::kernels::DescribeCudaDevice().multiprocessors * 4;
  const double mma_us = Median([&](Dim) { operations = hearth::bench::LaunchMmaOnly(Stream(), sums.data(), blocks); });
  g_product_rate = operations / mma_us;
  std::printf("ceilings: device copy %.1f GB/s, mma.sync alone %.1f TFLOP/s\n", g_copy_rate * 1e-3,
              g_product_rate * 1e-6);
}

void Report(const char* op, const std::string& shape, Dim rows, double bytes, double flops,
            const std::function<void(Dim)>& call) {
  const double us = Median(call);
  std::printf("%-16s %-32s rows %5lld %10.1f us  %9.2f MB  %8.1f GB/s  %5.1f %% of copy", op, shape.c_str(),
              static_cast<long long>(rows), us, bytes * 1e-6, bytes / us * 1e-3, 100.0 * bytes / us / g_copy_rate);
  if (flops > 0)
    std::printf("  %7.2f TFLOP/s, %5.1f %% of mma", flops / us * 1e-6, 100.0 * flops / us / g_product_rate);
  std::printf("\n");
  std::fflush(stdout);
}

// The last `rows` positions of a sequence of `tokens` tokens whose pages lie in order.
class Sequence {
 public:
  Sequence(Dim rows, Dim tokens)
      : sequence_(rows, [](Dim) { return 0; }),
        position_(rows, [=](Dim r) { return static_cast<int32_t>(tokens - rows + r); }),
        pages_((tokens + kPageTokens - 1) / kPageTokens, [](Dim p) { return static_cast<int32_t>(p); }),
        stride_((tokens + kPageTokens - 1) / kPageTokens) {}
  RowPages Where() const { return {sequence_.At(0), position_.At(0), pages_.At(0), stride_, kPageTokens}; }

 private:
  Values<int32_t> sequence_, position_, pages_;
  Dim stride_;
};

void BenchAttention(Dim rows, Dim tokens, Phase phase) {
  const Backend& ops = CudaBackend();
  const Sequence at(rows, tokens);
  const Dim pools = std::min(kPools, (tokens - rows + 1) / kPool), spread = std::max<Dim>(1, tokens / kPool / kPools);
  const Values<uint16_t> pool(tokens * kRank, RandomF16);
  const Values<float> ql(rows * kHeads * kRank, Random);
  const Values<int32_t> selected(rows * kPools, [=](Dim i) {
    const Dim p = i % kPools * spread + Hash(i) % spread;
    return static_cast<int32_t>(std::min(p, (tokens - rows) / kPool));
  });
  const Values<int32_t> count(rows, [=](Dim) { return static_cast<int32_t>(pools); });
  const double flops = 4.0 * static_cast<double>(rows * kHeads * pools * kPool) * kRank;
  const double bytes = static_cast<double>(rows * kHeads * kRank) * 8 +
                       static_cast<double>(std::min(rows * pools * kPool, tokens) * kRank) * 2;
  DeviceArray<float> out(CudaBackend());
  out.Grow(rows * kHeads * kRank);
  Report("latent_attention", std::to_string(pools * kPool) + " of " + std::to_string(tokens) + " tokens", rows, bytes,
         flops, [&](Dim i) {
           ops.latent_attention(ops.stream, {.ql = ql.At(i),
                                             .rows = rows,
                                             .heads = kHeads,
                                             .rank = kRank,
                                             .where = at.Where(),
                                             .kv_type = KvType::kF16,
                                             .pool = pool.At(i),
                                             .selected = selected.At(0),
                                             .selected_count = count.At(0),
                                             .selected_stride = kPools,
                                             .kpool = kPool,
                                             .scale = 1.0f / 64,
                                             .ol = out.data(),
                                             .phase = phase});
         });
}

void BenchSelect(Dim rows, Dim tokens) {
  const Backend& ops = CudaBackend();
  const Sequence at(rows, tokens);
  const Values<uint16_t> keys(tokens / kPool * kIndexDim, RandomF16);
  const Values<float> iq(rows * kIndexHeads * kIndexDim, Random), weight(rows * kIndexHeads, Random);
  DeviceArray<int32_t> selected(CudaBackend()), count(CudaBackend());
  selected.Grow(rows * kPools);
  count.Grow(rows);
  const double pools = static_cast<double>(tokens) / kPool - static_cast<double>(rows) / kPool / 2;
  Report("index_select", std::to_string(tokens / kPool) + " pools", rows,
         static_cast<double>(tokens / kPool * kIndexDim) * 2 + static_cast<double>(rows * kIndexHeads * kIndexDim) * 4,
         2.0 * static_cast<double>(rows) * pools * kIndexHeads * kIndexDim, [&](Dim i) {
           ops.index_select(ops.stream, {.iq = iq.At(i),
                                         .head_weight = weight.At(i),
                                         .rows = rows,
                                         .heads = kIndexHeads,
                                         .dim = kIndexDim,
                                         .kpool = kPool,
                                         .where = at.Where(),
                                         .kv_type = KvType::kF16,
                                         .pool_keys = keys.At(i),
                                         .max_selected = kPools,
                                         .selected = selected.data(),
                                         .selected_count = count.data()});
         });
}

void BenchRows(Dim rows, Phase phase) {
  const Backend& ops = CudaBackend();
  const Sequence at(rows, std::max<Dim>(rows, 4096));
  const Values<uint16_t> pool(std::max<Dim>(rows, 4096) * kRank, RandomF16);
  const Values<float> latents(rows * kRank, Random);
  Report("store_latents", "512", rows, static_cast<double>(rows * kRank) * 6, 0, [&](Dim i) {
    ops.store_latents(ops.stream, {latents.At(i), rows, kRank, at.Where(), KvType::kF16, pool.At(i)});
  });
  const Values<float> tail(kPool * 2 * kIndexDim, Random), ape(kPool * kIndexDim, Random), vectors(kIndexDim, Random);
  const hearth::kernels::IndexSegment segment{0, rows, tail.At(0)};
  Report("index_pool", "128, pools of 4", rows, static_cast<double>(rows * kIndexDim) * 8.5, 0, [&](Dim i) {
    ops.index_pool(ops.stream, {latents.At(i), latents.At(i), vectors.At(0), vectors.At(0), ape.At(0), &segment, 1,
                                kIndexDim, kPool, at.Where(), KvType::kF16, pool.At(i)});
  });
  const Values<float> x(rows * kHidden, Random), bias(kExperts, Random);
  const Values<float> weight(kExperts * kHidden, [](Dim i) { return Random(i) / 32; });
  DeviceArray<int32_t> ids(CudaBackend());
  DeviceArray<float> weights(CudaBackend());
  ids.Grow(rows * kTopK);
  weights.Grow(rows * kTopK);
  Report("router", "4096 x 288", rows, static_cast<double>((kExperts + rows) * kHidden) * 4,
         2.0 * static_cast<double>(rows * kExperts) * kHidden, [&](Dim i) {
           ops.router(ops.stream, {.x = x.At(i),
                                   .weight = weight.At(i),
                                   .bias = bias.At(0),
                                   .rows = rows,
                                   .hidden = kHidden,
                                   .experts = kExperts,
                                   .top_k = kTopK,
                                   .scale = 2.5f,
                                   .ids = ids.data(),
                                   .weights = weights.data(),
                                   .phase = phase});
         });
  const Values<float> picks(rows * kTopK * kHidden, Random);
  Report("moe_combine", "8 picks of 4096", rows, static_cast<double>(rows * (kTopK + 2) * kHidden) * 4, 0, [&](Dim i) {
    ops.moe_combine(ops.stream, {picks.At(i), weights.data(), x.At(i), rows, kTopK, kHidden, x.At(i)});
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string problem = hearth::kernels::CudaProblem(); !problem.empty()) {
    std::fprintf(stderr, "latent_cuda_bench: %s\n", problem.c_str());
    return 1;
  }
  MeasureCeilings();
  std::vector<Dim> rows;
  for (int i = 1; i < argc; ++i) rows.push_back(std::max(1, std::atoi(argv[i])));
  if (rows.empty()) rows = {1, 8, 2048};
  for (Dim r : rows) {
    const Phase phase = r >= 64 ? Phase::kPrefill : Phase::kDecode;
    for (Dim tokens : {r + 2048, kContext}) {
      BenchAttention(r, tokens, phase);
      BenchSelect(r, tokens);
    }
    BenchRows(r, phase);
  }
  return 0;
}
