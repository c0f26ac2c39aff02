// Hit rates and admissions of the cache's policy on routing traces at the real shape; one line per rule.
//   cache_policy_bench [--trace FILE.npy] [--tokens 2500] [--warm 500] [--slots 1312] [--seed 1] [--streams 1]
//                      [--spread 1.2] [--drift 1] [--memory 500] [--zipf 0]
// A trace with ids of 288 and more is replayed with as many experts per layer as it names.
// Without --trace the tokens come from the same law as tools/make_routing_trace.py with other random numbers; --zipf
// above 0 makes the popularity a power of the rank. Several streams are windows of one trace, one after another.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "bench/experts/policy_replay.h"
#include "bench/experts/routing_trace.h"
#include "bench/experts/trace_file.h"

namespace hearth {
namespace {

using Tokens = std::vector<std::vector<int32_t>>;

// Of this thread: other work on the machine does not count.
double CpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void Replay(const char* name, PolicyReplay::Setup setup, const Tokens& trace, size_t streams, size_t warm) {
  PolicyReplay replay(setup);
  const size_t steps = trace.size() / streams;
  double spent = 0;
  Tokens rows(streams);
  for (size_t step = 0; step < steps; ++step) {
    if (step == warm) replay.TakeFigures();
    for (size_t s = 0; s < streams; ++s) rows[s] = trace[s * steps + step];
    const double start = CpuSeconds();
    replay.Decode(rows);
    spent += CpuSeconds() - start;
  }
  const PolicyReplay::Figures f = replay.TakeFigures();
  const double picks = static_cast<double>(steps * streams) * setup.layers * setup.picks;
  std::printf(
      "%-28s hit rate %.4f  admissions per token %7.2f  half-life at the end %5.0f  %.0f ns of CPU time per pick\n",
      name, f.hit_rate, f.admissions, replay.half_life(), spent * 1e9 / picks);
}

int Run(std::map<std::string, std::string>& options) {
  const auto number = [&](const char* name) { return std::atof(options.at(name).c_str()); };
  PolicyReplay::Setup setup;
  setup.slots = static_cast<int>(number("--slots"));
  Tokens trace;
  if (!options["--trace"].empty()) {
    TraceFile file = ReadTrace(options["--trace"]);
    setup.layers = file.layers;
    setup.experts = std::max(setup.experts, file.experts);
    setup.picks = file.picks;
    trace = std::move(file.tokens);
  } else {
    RoutingTrace::Shape shape;
    shape.seed = static_cast<uint64_t>(number("--seed"));
    shape.spread = number("--spread");
    shape.drift = number("--drift");
    shape.memory = number("--memory");
    shape.zipf = number("--zipf");
    RoutingTrace source(shape);
    for (int token = 0; token < static_cast<int>(number("--tokens")); ++token) trace.push_back(source.NextToken());
  }
  const auto streams = static_cast<size_t>(number("--streams")), warm = static_cast<size_t>(number("--warm"));
  if (streams < 1 || trace.size() / streams <= warm) {
    std::fprintf(stderr, "%zu tokens are too few for %zu streams with %zu tokens of warm-up each\n", trace.size(),
                 streams, warm);
    return 2;
  }
  std::printf("best fixed set in hindsight  hit rate %.4f\n",
              BestFixedSet(Tokens(trace.begin() + static_cast<std::ptrdiff_t>(warm), trace.end()), setup));
  setup.admission = cache::Admission::kAlways;
  Replay("CLOCK, every miss admitted", setup, trace, streams, warm);
  setup.admission = cache::Admission::kByFrequency;
  Replay("by frequency, adapting", setup, trace, streams, warm);
  for (double half_life : {16., 32., 64., 128., 256., 1024.}) {
    setup.half_life = half_life;
    Replay(("by frequency, half-life " + std::to_string(static_cast<int>(half_life))).c_str(), setup, trace, streams,
           warm);
  }
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  std::map<std::string, std::string> options = {
      {"--trace", ""},    {"--tokens", "2500"}, {"--warm", "500"}, {"--slots", "1312"}, {"--seed", "1"},
      {"--streams", "1"}, {"--spread", "1.2"},  {"--drift", "1"},  {"--memory", "500"}, {"--zipf", "0"}};
  for (int i = 1; i < argc; i += 2) {
    if (!options.count(argv[i]) || i + 1 == argc) {
      std::fprintf(stderr, "%s: unknown or without a value; the options are listed in cache_policy_bench.cc\n",
                   argv[i]);
      return 2;
    }
    options[argv[i]] = argv[i + 1];
  }
  try {
    return hearth::Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
