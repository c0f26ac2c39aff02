#include "bench/engine/bench_config.h"

#include <sstream>

namespace hearth {

void BenchConfig::Validate(Problems& p) const {
  worker.Validate(p);
  std::istringstream parts(part);
  for (std::string name; std::getline(parts, name, ',');) {
    const bool known = name == "start" || name == "decode1" || name == "decode4" || name == "prefill8k" ||
                       name == "prefill32k" || name == "exactness" || name == "memory";
    p.Require(known, "--part", name, "start, decode1, decode4, prefill8k, prefill32k, exactness or memory");
  }
  p.Require(tokens >= 1 && tokens <= 100000, "--tokens", tokens, "1 to 100000");
  p.Require(warm >= 1 && warm <= 100000, "--warm", warm, "1 to 100000");
  p.Require(hit_rate >= 0 && hit_rate < 1, "--hit-rate", hit_rate, "0 or a share below 1");
  p.Require(prompt >= 1 && prompt <= 100000, "--prompt", prompt, "1 to 100000");
}

}  // namespace hearth
