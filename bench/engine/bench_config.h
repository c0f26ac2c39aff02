#pragma once

#include <cstdint>
#include <string>

#include "gpu_worker/config.h"

namespace hearth {

// The worker's own options, and what is to be measured with them.
struct BenchConfig {
  WorkerConfig worker;
  std::string part = "start,decode1,decode4,prefill8k,memory";
  int64_t tokens = 128;
  int64_t warm = 128;
  int64_t prompt = 512;
  std::string feed = "random";
  std::string admission = "frequency";
  std::string tier_binary;
  std::string tier_arguments;
  double hit_rate = 0;
  double router_zipf = -1;

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    worker.ForEach(visit);
    visit(
        OptionSpec{.flag = "--part",
                   .help = "what to measure, with commas: start, decode1, decode4 (or of either fast1, exact1, fast4, "
                           "exact4), prefill8k, prefill32k, exactness, memory"},
        part);
    visit(OptionSpec{.flag = "--tokens", .help = "decode steps that are measured"}, tokens);
    visit(OptionSpec{.flag = "--warm",
                     .help = "decode steps before, that fill the expert cache; with several streams "
                             "as many fewer"},
          warm);
    visit(OptionSpec{.flag = "--prompt", .help = "tokens of a decode stream's prompt"}, prompt);
    visit(OptionSpec{.flag = "--hit-rate",
                     .help =
                         "spread a synthetic router's picks so that the cache hits this share of the experts in every "
                         "decode measurement, 0.39 for example; 0: as the model's file says"},
          hit_rate);
    visit(OptionSpec{.flag = "--router-zipf",
                     .help = "of a synthetic model's routers, in place of its file's, and where --hit-rate begins; -1: "
                             "the file's"},
          router_zipf);
    visit(OptionSpec{.flag = "--feed",
                     .help = "the next token: drawn at random, or the likeliest (a random model then repeats itself)",
                     .allowed = {"random", "greedy"}},
          feed);
    visit(
        OptionSpec{.flag = "--admission",
                   .help = "into the expert cache: the server's rule, or every miss (then no miss is left to the CPU)",
                   .allowed = {"frequency", "always"}},
        admission);
    visit(OptionSpec{.flag = "--tier-binary",
                     .help = "hearth-cpu-tier to run at the address of --cpu-tier; empty: one that runs already"},
          tier_binary);
    visit(OptionSpec{.flag = "--tier-arguments", .help = "further arguments for it, with spaces"}, tier_arguments);
  }
  void Validate(Problems& problems) const;

  bool Has(const std::string& name) const { return ("," + part + ",").find("," + name + ",") != std::string::npos; }
};

}  // namespace hearth
