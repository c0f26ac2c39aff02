// Measures a model and everything that computes with it, without scheduler, service and gateway, and compares with what
// the machine gives in the same run. See scripts/gpu_check.sh.
//   engine_bench --model synthetic:tools/synthetic/real_shape_flat.json --vram-gb 24 --ec-max-slots 1312
//                --tier-binary build/release/bin/hearth-cpu-tier --part start,decode1,decode4,prefill8k,memory
// Ends with 1 when a part was skipped that --part names, or when the exactness part found what it must not: a line each
// at the end. decode1 and decode4 mean exact alone where no CPU tier is up and no --tier-binary was given.
#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <sstream>
#include <thread>

#include "bench/engine/bench.h"
#include "bench/engine/router_zipf.h"
#include "common/base/byte_size.h"
#include "common/base/process.h"
#include "common/base/startup_error.h"
#include "common/config/load_config.h"

namespace hearth {

void Say(const std::string& name, const char* format, ...) {
  std::printf("  %-34s ", name.c_str());
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
  std::fflush(stdout);
}

void Title(const std::string& text) { std::printf("\n%s\n", text.c_str()); }

ExecutorOptions Bench::Options(bool exact) const {
  ExecutorOptions options = engine.executor_options();
  options.exact = options.exact || exact;
  if (config.admission == "always") options.admission = cache::Admission::kAlways;
  return options;
}

void Bench::StartTier() const {
  if (config.tier_binary.empty()) return;
  std::vector<std::string> arguments{"--grpc-listen", config.worker.cpu_tier, "--metrics-port", "0", "--log-level",
                                     "warning"};
  std::istringstream more(config.tier_arguments);
  for (std::string word; more >> word;) arguments.push_back(word);
  tier.reset();
  tier = std::make_unique<TierProcess>(config.tier_binary, arguments);
}

bool Bench::WaitForLane() const {
  if (!uses_tier()) return false;
  for (const double end = Now() + 30; Now() < end;) {
    if (engine.lane().up()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

std::string Bench::WhyNoLane() const {
  if (!uses_tier()) {
    return "these options use no CPU tier; leave out --mode exact and --cpu-lane never, and give an address in "
           "--cpu-tier";
  }
  const std::string down = StrCat("the CPU lane is not up after 30 s (", engine.tier()->state().reason, "); ");
  if (config.tier_binary.empty()) {
    return StrCat(down, "give --tier-binary, or run hearth-cpu-tier at ", config.worker.cpu_tier);
  }
  return StrCat(down, "see whether ", config.tier_binary, " --grpc-listen ", config.worker.cpu_tier, " ",
                config.tier_arguments, config.tier_arguments.empty() ? "" : " ", "runs by itself");
}

void ReportMemory(const Bench& bench) {
  Title("memory");
  const double gib = static_cast<double>(kGiB);
  if (!bench.kernels.on_host()) {
    Say("device memory", "at most %.2f GiB in %llu samples of the whole card; budget %.2f GiB, planned %.2f GiB",
        static_cast<double>(bench.vram.most()) / gib, static_cast<unsigned long long>(bench.vram.samples()),
        static_cast<double>(bench.engine.memory().budget_bytes) / gib,
        static_cast<double>(bench.engine.memory().total_bytes) / gib);
  }
  const ProcessMemory own = MemoryOf(::getpid());
  const ProcessMemory tier = bench.tier != nullptr ? MemoryOf(bench.tier->pid()) : ProcessMemory{};
  const auto files = static_cast<double>(TmpfsBytes(bench.engine.loaded().home.path())) / gib;
  const auto other = static_cast<double>(own.pss - own.pss_shmem + tier.pss - tier.pss_shmem) / gib;
  Say("this process", "PSS %.2f GiB, of that tmpfs %.2f", static_cast<double>(own.pss) / gib,
      static_cast<double>(own.pss_shmem) / gib);
  if (bench.tier != nullptr) {
    Say("cpu_tier", "PSS %.2f GiB, of that tmpfs %.2f", static_cast<double>(tier.pss) / gib,
        static_cast<double>(tier.pss_shmem) / gib);
  }
  Say("in all", "%.2f GiB: files of tmpfs %.2f, processes without it %.2f", files + other, files, other);
}

namespace {

void ReportStart(Bench& bench, double created) {
  ModelEngine& engine = bench.engine;
  Title("start");
  const double begin = Now();
  {
    Streams streams(engine, 1, true, 1);
    streams.Prefill(8);
    streams.Step();
  }
  const double warm = Now() - begin;
  const LoadedModel& loaded = engine.loaded();
  const double gb = static_cast<double>(loaded.home.bytes()) / 1e9;
  Say("model", "%s%s, home %.2f GB %s", bench.config.worker.model.c_str(),
      engine.synthetic() ? " (random weights)" : "", gb, loaded.home.adopted() ? "adopted" : "created");
  Say("load", "%.2f s, home and weights (%.2f GB of home a second)", loaded.seconds, gb / loaded.seconds);
  Say("ready", "%.2f s: all parts %.2f s, a chunk and a step %.2f s", created + warm, created, warm);
  Say("home lies on", "%s", MountOf(bench.home_dir).c_str());
}

// What is to be said at the end; see Bench::failures.
std::vector<std::string> Measure(const BenchConfig& config) {
  SetLogLevel(*ParseLogLevel(config.worker.log_level));
  const ChosenKernels kernels = ChooseKernels(config.worker);
  const std::string home_dir = ChooseHomeDir(config.worker);
  std::printf("engine_bench: %s %s, mode %s, admission %s, next token %s\n", kernels.name.c_str(),
              kernels.device.c_str(), config.worker.mode.c_str(), config.admission.c_str(), config.feed.c_str());
  std::unique_ptr<TierProcess> tier;
  VramSampler vram(kernels);
  const double begin = Now();
  ModelEngine engine(config.worker, kernels, home_dir, {});
  Bench bench{config, kernels, home_dir, engine, vram, tier, {}, 0, {}};
  if (config.router_zipf >= 0) {
    bench.router_zipf = config.router_zipf;
    SetRouterZipf(engine, config.worker.model, bench.router_zipf);
  } else if (config.hit_rate > 0) {
    bench.router_zipf = RouterZipfOf(config.worker.model);
  }
  if (UsesCpuTier(config.worker)) bench.StartTier();
  const double created = Now() - begin;
  if (config.Has("start")) ReportStart(bench, created);
  const auto has = [&](const char* text) { return config.part.find(text) != std::string::npos; };
  if (has("decode") || has("fast") || has("exact1") || has("exact4") || has("prefill")) {
    vram.Pause();
    bench.ceilings = MeasureCeilings(engine);
    vram.Resume();
    Title("ceilings of this run");
    Say("home, batches of 1", "%.2f GB/s", bench.ceilings.home_one);
    Say("home, batches of a token's picks", "%.2f GB/s", bench.ceilings.home_many);
    Say("device memory, the same batches", "%.2f GB/s", bench.ceilings.slots_many);
    Say("copies from the home", "%.2f GB/s", bench.ceilings.copy);
    constexpr double kLeast = 48;  // of the reference machine, below which its goals mean nothing
    if (!kernels.on_host() && bench.ceilings.home_many < kLeast) Say("remark", "the link gives less than 48 GB/s");
  }
  for (const int streams : {1, 4}) {
    const bool both = config.Has(StrCat("decode", streams));
    if (config.Has(StrCat("fast", streams)) || (both && bench.uses_tier())) MeasureDecode(bench, streams, false);
    if (both || config.Has(StrCat("exact", streams))) MeasureDecode(bench, streams, true);
  }
  if (config.Has("prefill8k")) MeasurePrefill(bench, 8192, 3);
  if (config.Has("prefill32k")) MeasurePrefill(bench, 32768, 1);
  if (config.Has("exactness")) MeasureExactness(bench);
  if (config.Has("memory")) ReportMemory(bench);
  return bench.failures;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  std::vector<std::string> failures;
  const int code = hearth::RunProcess("engine_bench", [&](hearth::StopSignal&) {
    hearth::SetLogProcess("engine_bench");
    try {
      failures = hearth::Measure(hearth::LoadConfig<hearth::BenchConfig>(argc, argv));
    } catch (const std::bad_alloc&) {
      throw hearth::StartupError(
          "no memory is left for what the measurements need beside the engine; on a GPU raise --ec-reserve-gb or lower "
          "--ec-max-slots, on the host lower --vram-gb or -cs");
    }
    hearth::FlushLog();
  });
  for (const std::string& failure : failures) std::fprintf(stderr, "engine_bench: FAILED: %s\n", failure.c_str());
  return code == 0 && !failures.empty() ? 1 : code;
}
