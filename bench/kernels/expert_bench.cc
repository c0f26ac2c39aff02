#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/kernels/bench_threads.h"
#include "bench/kernels/expert_pool.h"
#include "bench/kernels/instruction_count.h"
#include "bench/kernels/plain_read.h"
#include "kernels/expert_ffn/expert_kernel.h"

// Speed of whole experts, computed from memory, next to a plain read of the same bytes.
//   expert_bench [--threads N[,N..]] [--cpus LIST] [--bits K[,K..]] [--tokens M[,M..]] [--isa NAME[,NAME..]]
//                [--hidden N] [--width N] [--mb-per-thread N] [--repeats N] [--json]
// Each thread computes experts of its own, so nothing but the memory is shared. One thread is measured in its own CPU
// time, several in wall time. GB/s are bytes of packed weights. Without --isa every variant of every kernel is
// measured; "chosen" is the one that cpu_tier would take here.

namespace hearth::bench {
namespace {

using kernels::Dim;
using kernels::ExpertArithmetic;
using kernels::ExpertIsa;
using kernels::ExpertKernel;

struct Options {
  std::vector<int> threads = {1}, bits = {3}, tokens = {1, 2, 4, 8}, cpus;
  std::vector<std::string> kernels;
  Dim hidden = 4096, width = 2048;
  size_t mb_per_thread = 192;
  int repeats = 7;
  bool json = false;
};

std::vector<std::string> SplitNames(const std::string& text) {
  std::vector<std::string> names(1);
  for (char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

// A whole number and nothing behind it.
int Number(const char* flag, const std::string& text, int least, int most) {
  int n = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, n);
  if (parsed.ec == std::errc() && parsed.ptr == end && n >= least && n <= most) return n;
  std::fprintf(stderr, "expert_bench: --%s '%s': expected a whole number from %d to %d\n", flag, text.c_str(), least,
               most);
  std::exit(2);
}

std::vector<int> SplitNumbers(const char* flag, const std::string& text, int least, int most) {
  std::vector<int> numbers;
  for (const std::string& name : SplitNames(text)) numbers.push_back(Number(flag, name, least, most));
  return numbers;
}

Options Parse(int argc, char** argv) {
  const option table[] = {
      {"threads", 1, nullptr, 't'}, {"cpus", 1, nullptr, 'c'},    {"bits", 1, nullptr, 'b'},
      {"tokens", 1, nullptr, 'm'},  {"isa", 1, nullptr, 'i'},     {"hidden", 1, nullptr, 'h'},
      {"width", 1, nullptr, 'w'},   {"repeats", 1, nullptr, 'r'}, {"mb-per-thread", 1, nullptr, 's'},
      {"json", 0, nullptr, 'j'},    {nullptr, 0, nullptr, 0}};
  Options o;
  for (int c = 0; (c = getopt_long(argc, argv, "", table, nullptr)) != -1;) {
    if (c == 't') o.threads = SplitNumbers("threads", optarg, 1, 1024);
    if (c == 'c') o.cpus = ParseCpus(optarg);
    if (c == 'b') o.bits = SplitNumbers("bits", optarg, 1, 8);
    if (c == 'm') o.tokens = SplitNumbers("tokens", optarg, 1, 64);
    if (c == 'i') o.kernels = SplitNames(optarg);
    if (c == 'h') o.hidden = Number("hidden", optarg, 128, 65536);
    if (c == 'w') o.width = Number("width", optarg, 128, 65536);
    if (c == 'r') o.repeats = Number("repeats", optarg, 1, 1000);
    if (c == 's') o.mb_per_thread = static_cast<size_t>(Number("mb-per-thread", optarg, 1, 65536));
    if (c == 'j') o.json = true;
    if (c == '?') std::exit(2);
  }
  if (optind < argc) {
    std::fprintf(stderr, "expert_bench: '%s' belongs to no option; the options are", argv[optind]);
    for (const option* known = table; known->name != nullptr; ++known) std::fprintf(stderr, " --%s", known->name);
    std::fputs("\n", stderr);
    std::exit(2);
  }
  if (o.hidden % 128 != 0 || o.width % 128 != 0) {
    std::fputs("expert_bench: --hidden and --width are multiples of 128\n", stderr);
    std::exit(2);
  }
  return o;
}

std::vector<const ExpertKernel*> Chosen(const Options& o) {
  std::vector<const ExpertKernel*> all;
  for (const ExpertIsa isa : {ExpertIsa::kAvx512, ExpertIsa::kAvx2, ExpertIsa::kRef}) {
    if (!kernels::HostHas(isa)) continue;
    for (const auto arithmetic : {ExpertArithmetic::kInt16, ExpertArithmetic::kFp32}) {
      std::vector<std::string> variants;
      if (arithmetic == ExpertArithmetic::kInt16) variants = kernels::Int16Variants(isa);
      if (variants.empty()) variants.emplace_back();
      for (const std::string& variant : variants) {
        const ExpertKernel* kernel = &kernels::GetExpertKernel(isa, arithmetic, variant);
        if (std::find(all.begin(), all.end(), kernel) == all.end()) all.push_back(kernel);
      }
    }
  }
  std::vector<std::string> names;
  for (const ExpertKernel* kernel : all) {
    if (std::find(names.begin(), names.end(), kernel->name()) == names.end()) names.emplace_back(kernel->name());
  }
  for (const std::string& name : o.kernels) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::fprintf(stderr, "expert_bench: --isa '%s': no kernel of this processor; it has", name.c_str());
    for (const std::string& known : names) std::fprintf(stderr, " %s", known.c_str());
    std::fputs("\n", stderr);
    std::exit(2);
  }
  std::vector<const ExpertKernel*> chosen;
  for (const ExpertKernel* kernel : all) {
    // Plain loops are a thousand times slower and only measured when asked for.
    const bool named = std::find(o.kernels.begin(), o.kernels.end(), kernel->name()) != o.kernels.end();
    if (named || (o.kernels.empty() && std::string(kernel->name()).rfind("ref", 0) != 0)) chosen.push_back(kernel);
  }
  if (chosen.empty()) {
    std::fputs("expert_bench: this processor has no AVX2; --isa ref-int16,ref-fp32 measures plain loops\n", stderr);
    std::exit(2);
  }
  return chosen;
}

// Would a daemon take this variant here? It takes the host's best instruction set and the quickest variant of that.
bool IsTheChosen(const ExpertKernel& kernel) {
  return &kernels::GetExpertKernel(kernels::HostExpertIsa(), ExpertArithmetic::kInt16) == &kernel;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Median GB/s over the repeats.
template <typename Work>
double Rate(BenchThreads& team, const ExpertPool& pool, int repeats, Work&& work) {
  std::vector<double> rates;
  for (int r = 0; r < repeats; ++r) rates.push_back(static_cast<double>(pool.bytes()) / team.Run(work) * 1e-9);
  return Median(rates);
}

void Measure(const Options& o, const std::vector<const ExpertKernel*>& chosen, int threads, int bits) {
  BenchThreads team(threads, o.cpus);
  ExpertPool pool(team, static_cast<uint32_t>(bits), o.hidden, o.width, o.mb_per_thread << 20);
  const double plain = Rate(team, pool, o.repeats, [&](int t) { PlainRead(pool.share(t)); });
  for (const ExpertKernel* kernel : chosen) {
    for (const int tokens : o.tokens) {
      ExpertRun run(pool, *kernel, threads, tokens);
      team.Run([&](int t) { run.OneExpert(t); });  // warms code, scratch and page tables
      const double gbs = Rate(team, pool, o.repeats, [&](int t) { run.All(t); });
      const double clock = ClockGhz();
      const double weights = gbs * 8 / bits;  // G/s
      const double instructions = threads == 1 ? CountInstructions([&] { run.OneExpert(0); }) / pool.weights() : 0;
      if (o.json) {
        std::printf(
            "{\"kernel\": \"%s\", \"variant\": \"%s\", \"bits\": %d, \"tokens\": %d, \"threads\": %d, "
            "\"gb_per_s\": %.3f, \"gb_per_s_per_thread\": %.3f, \"plain_read_gb_per_s\": %.3f, \"share_of_read\": "
            "%.4f, "
            "\"weights_per_clock\": %.3f, \"clock_ghz\": %.3f, \"instructions_per_weight\": %.4f}\n",
            kernel->name(), kernel->variant(), bits, tokens, threads, gbs, gbs / threads, plain, gbs / plain,
            weights / threads / clock, clock, instructions);
      } else {
        std::printf("%-13s K=%d tokens %2d threads %3d  %7.2f GB/s  %6.2f per thread  plain read %7.2f  share %5.1f %%",
                    kernel->name(), bits, tokens, threads, gbs, gbs / threads, plain, 100 * gbs / plain);
        std::printf("  %5.2f weights per clock at %.2f GHz", weights / threads / clock, clock);
        if (instructions > 0) std::printf("  %.3f instructions per weight", instructions);
        if (kernel->variant()[0] != 0) std::printf("  %s%s", kernel->variant(), IsTheChosen(*kernel) ? ", chosen" : "");
        std::printf("\n");
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace hearth::bench

int main(int argc, char** argv) {
  const auto options = hearth::bench::Parse(argc, argv);
  const auto chosen = hearth::bench::Chosen(options);
  for (const int threads : options.threads) {
    for (const int bits : options.bits) hearth::bench::Measure(options, chosen, threads, bits);
  }
  return 0;
}
