#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/engine/bench_config.h"
#include "bench/engine/ceilings.h"
#include "bench/engine/machine_use.h"
#include "bench/engine/streams.h"
#include "bench/engine/tier_process.h"
#include "gpu_worker/model_engine.h"

namespace hearth {

// What all parts of the benchmark work with.
struct Bench {
  const BenchConfig& config;
  const ChosenKernels& kernels;
  std::string home_dir;
  ModelEngine& engine;
  VramSampler& vram;
  std::unique_ptr<TierProcess>& tier;
  Ceilings ceilings;
  double router_zipf = 0;  // of the routers as they are, when a hit rate is wanted
  // A line for each part that was asked for and could not be measured, and for each figure that must not be so. With
  // any of them the process ends with 1, after the whole report.
  std::vector<std::string> failures;

  bool greedy() const { return config.feed == "greedy"; }
  bool uses_tier() const { return engine.tier() != nullptr; }
  // Options of the configuration for a mode, with the benchmark's admission.
  ExecutorOptions Options(bool exact) const;
  void StartTier() const;         // when a binary is given
  bool WaitForLane() const;       // up to half a minute
  std::string WhyNoLane() const;  // what keeps the CPU lane down, and what would help
};

// "  name ......... text"
void Say(const std::string& name, const char* format, ...) __attribute__((format(printf, 2, 3)));
void Title(const std::string& text);

// The parts. Each prints its own numbers and adds to `failures`; a mode other than exact needs the CPU lane up.
void MeasureDecode(Bench& bench, int streams, bool exact);
void MeasurePrefill(Bench& bench, int64_t tokens, int repeats);
void MeasureExactness(Bench& bench);
void ReportMemory(const Bench& bench);

}  // namespace hearth
