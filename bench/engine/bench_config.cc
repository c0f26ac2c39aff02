#include "bench/engine/bench_config.h"

#include <set>
#include <sstream>

namespace hearth {

void BenchConfig::Validate(Problems& p) const {
  worker.Validate(p);
  static const std::set<std::string> known = {"start",  "decode1",   "decode4",    "fast1",     "exact1", "fast4",
                                              "exact4", "prefill8k", "prefill32k", "exactness", "memory"};
  std::istringstream parts(part);
  for (std::string name; std::getline(parts, name, ',');) {
    p.Require(known.contains(name), "--part", name,
              "start, decode1, decode4, fast1, exact1, fast4, exact4, prefill8k, prefill32k, exactness or memory");
  }
  p.Require(tokens >= 1 && tokens <= 100000, "--tokens", tokens, "1 to 100000");
  p.Require(warm >= 1 && warm <= 100000, "--warm", warm, "1 to 100000");
  p.Require(hit_rate >= 0 && hit_rate < 1, "--hit-rate", hit_rate, "0 or a share below 1");
  p.Require(router_zipf == -1 || (router_zipf >= 0 && router_zipf <= 3), "--router-zipf", router_zipf, "0 to 3, or -1");
  p.Require(prompt >= 1 && prompt <= 100000, "--prompt", prompt, "1 to 100000");
}

}  // namespace hearth
