#include <algorithm>
#include <vector>

#include "bench/engine/bench.h"

namespace hearth {

void MeasurePrefill(Bench& bench, int64_t tokens, int repeats) {
  ModelEngine& engine = bench.engine;
  Title(StrCat("prefill of ", tokens, " tokens, chunks of ", engine.limits().chunk_size));
  if (tokens > engine.store().free_tokens()) {
    const std::string why = StrCat("the pool has ", engine.store().free_tokens(), " tokens; raise -cs");
    Say("skipped", "%s", why.c_str());
    bench.failures.push_back(StrCat("prefill of ", tokens, " tokens: skipped, ", why));
    return;
  }
  engine.RestartExperts(bench.Options(true));
  { Streams(engine, 1, false, 99).Prefill(std::min(tokens, engine.limits().chunk_size)); }  // buffers take their size
  const LaneSnapshot before = engine.experts().stats();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    seconds.push_back(Streams(engine, 1, false, static_cast<uint64_t>(i)).Prefill(tokens));
  }
  const LaneSnapshot after = engine.experts().stats();
  const double median = MedianOf(seconds);
  const auto gb = [&](uint64_t a, uint64_t b) { return static_cast<double>(a - b) / 1e9 / repeats; };
  const double staged = gb(after.bytes.staged, before.bytes.staged), direct = gb(after.bytes.pcie, before.bytes.pcie);
  Say("rate", "%.1f tok/s (%.3f s, median of %d)", static_cast<double>(tokens) / median, median, repeats);
  Say("bytes", "staged %.2f GB, read from the home %.2f GB, from slots %.2f GB", staged, direct,
      gb(after.bytes.vram, before.bytes.vram));
  const double limit = (staged + direct) / bench.ceilings.copy;
  if (limit > 0) {
    Say("staging limit", "%.2f GB / %.1f GB/s = %.3f s, %.1f tok/s; reached %.1f %%", staged + direct,
        bench.ceilings.copy, limit, static_cast<double>(tokens) / limit, limit / median * 100);
  }
}

}  // namespace hearth
