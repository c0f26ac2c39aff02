#include "bench/kernels/expert_pool.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

namespace hearth::bench {
namespace {

using kernels::Dim;

MatrixView Matrix(uint32_t bits, Dim in, Dim out, const std::byte* data, const uint16_t* scales) {
  MatrixView w;
  w.kind = WeightKind::kExl3;
  w.codebook = Codebook::kMul1;
  w.bits = bits;
  w.in_features = w.in_padded = in;
  w.out_features = w.out_padded = out;
  w.data = data;
  w.suh = w.svh = scales;
  return w;
}

}  // namespace

void ExpertPool::Unmap::operator()(std::byte* p) const { munmap(p, bytes); }

ExpertPool::ExpertPool(BenchThreads& team, uint32_t bits, Dim hidden, Dim width, size_t bytes_per_thread)
    : bits_(bits),
      hidden_(hidden),
      width_(width),
      expert_bytes_(static_cast<size_t>(3 * hidden * width * bits / 8)),
      experts_(static_cast<int>(std::max<size_t>(1, bytes_per_thread / expert_bytes_))),
      scales_(static_cast<size_t>(std::max(hidden, width)), 0x2000),
      shares_(static_cast<size_t>(team.threads())) {
  constexpr size_t kBehind = 64 << 10;  // readers prefetch past the end
  team.Run([&](int t) {
    const size_t bytes = static_cast<size_t>(experts_) * expert_bytes_ + kBehind;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      std::fputs("expert_bench: not enough memory; try a smaller --mb-per-thread\n", stderr);
      std::exit(1);
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    std::mt19937_64 random(static_cast<uint64_t>(t) + 1);
    auto* words = static_cast<uint64_t*>(memory);
    for (size_t i = 0; i < bytes / 8; ++i) words[i] = random();
    shares_[static_cast<size_t>(t)] = {static_cast<std::byte*>(memory), Unmap{bytes}};
  });
}

size_t ExpertPool::bytes() const { return shares_.size() * static_cast<size_t>(experts_) * expert_bytes_; }

MlpView ExpertPool::Expert(int thread, int index) const {
  const std::byte* at = share(thread).data() + static_cast<size_t>(index) * expert_bytes_;
  const size_t matrix = expert_bytes_ / 3;
  return {Matrix(bits_, hidden_, width_, at, scales_.data()),
          Matrix(bits_, hidden_, width_, at + matrix, scales_.data()),
          Matrix(bits_, width_, hidden_, at + 2 * matrix, scales_.data()), 10};
}

ExpertRun::ExpertRun(const ExpertPool& pool, const kernels::ExpertKernel& kernel, int threads, int tokens)
    : pool_(pool), kernel_(kernel), tokens_(tokens), rows_(static_cast<size_t>(tokens)) {
  std::iota(rows_.begin(), rows_.end(), 0);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const size_t values = static_cast<size_t>(tokens) * static_cast<size_t>(pool.hidden());
  const auto scratch = static_cast<size_t>(kernel.ScratchBytes(pool.Expert(0, 0), tokens)) + 64;
  for (int t = 0; t < threads; ++t) {
    Thread& thread = threads_.emplace_back();
    thread.x.resize(values);
    thread.out.resize(values);
    thread.scratch.resize(scratch);
    for (float& x : thread.x) x = normal(random);
  }
}

void ExpertRun::Compute(int thread, int index) {
  Thread& t = threads_[static_cast<size_t>(thread)];
  const kernels::ExpertFfnArgs args{
      pool_.Expert(thread, index), t.x.data(), rows_.data(), t.out.data(), rows_.data(), tokens_, pool_.hidden()};
  void* scratch = t.scratch.data() + (64 - reinterpret_cast<uintptr_t>(t.scratch.data()) % 64);
  for (int p = 0; p < kernels::kExpertPhases; ++p) {
    const auto phase = static_cast<kernels::ExpertPhase>(p);
    const Dim units = kernel_.Units(args.expert, tokens_, phase);
    for (Dim unit = 0; unit < units; ++unit) kernel_.Run(args, phase, unit, scratch);
  }
}

}  // namespace hearth::bench
