// Hit rates of the cache's admission rules on a synthetic routing trace at the real shape. Prints one line per rule.
//   cache_policy_bench [tokens] [slots] [seed] [memory] [drift]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/experts/routing_trace.h"
#include "gpu_worker/experts/cache_policy.h"
#include "gpu_worker/experts/cache_tables.h"

namespace hearth {
namespace {

void Replay(const char* name, const RoutingTrace::Shape& shape, const std::vector<std::vector<int32_t>>& trace,
            int slots, cache::Admission mode, double half_life, int warm) {
  CacheTables tables(shape.layers, shape.experts, slots);
  const cache::View view = tables.view();
  view.state->adapt = half_life == 0;
  if (half_life > 0) view.state->clock.half_life = half_life;
  cache::Counters before;
  const auto start = std::chrono::steady_clock::now();
  for (size_t token = 0; token < trace.size(); ++token) {
    if (static_cast<int>(token) == warm) before = view.state->counters;
    for (int layer = 0; layer < shape.layers; ++layer) {
      cache::AdvanceTime(view, 1.0 / shape.layers);
      int32_t pinned[64];
      int pins = 0;
      int32_t missed[64];
      int misses = 0;
      for (int k = 0; k < shape.picks; ++k) {
        const int32_t key = tables.Key(layer, trace[token][static_cast<size_t>(layer * shape.picks + k)]);
        const int32_t slot = cache::Touch(view, key, 1);
        if (slot >= 0) {
          pinned[pins++] = slot;
        } else {
          missed[misses++] = key;
        }
      }
      for (int m = 0; m < misses; ++m) {
        const int32_t slot = cache::Admit(view, missed[m], mode);
        if (slot >= 0) pinned[pins++] = slot;
      }
      for (int p = 0; p < pins; ++p) cache::Unpin(view, pinned[p]);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const cache::Counters& c = view.state->counters;
  const double hits = static_cast<double>(c.hits - before.hits), misses = static_cast<double>(c.misses - before.misses);
  const double tokens = static_cast<double>(trace.size()) - warm;
  std::printf("%-28s hit rate %.4f  admissions per token %7.2f  half-life at the end %6.0f  %.1f us per token\n", name,
              hits / (hits + misses), static_cast<double>(c.admissions - before.admissions) / tokens,
              view.state->clock.half_life, seconds * 1e6 / static_cast<double>(trace.size()));
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  const int tokens = argc > 1 ? std::atoi(argv[1]) : 4000;
  const int slots = argc > 2 ? std::atoi(argv[2]) : 1312;
  hearth::RoutingTrace::Shape shape;
  if (argc > 3) shape.seed = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) shape.memory = std::atof(argv[4]);
  if (argc > 5) shape.drift = std::atof(argv[5]);
  hearth::RoutingTrace source(shape);
  std::vector<std::vector<int32_t>> trace;
  for (int token = 0; token < tokens; ++token) trace.push_back(source.NextToken());
  const int warm = tokens < 1000 ? tokens / 2 : 500;
  using hearth::cache::Admission;
  hearth::Replay("CLOCK, every miss admitted", shape, trace, slots, Admission::kAlways, 128, warm);
  hearth::Replay("by frequency, adapting", shape, trace, slots, Admission::kByFrequency, 0, warm);
  for (double half_life : {64., 128., 256., 512., 1024., 2048.}) {
    hearth::Replay("by frequency", shape, trace, slots, Admission::kByFrequency, half_life, warm);
  }
}
