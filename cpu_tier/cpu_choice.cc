#include "cpu_tier/cpu_choice.h"

#include <algorithm>

#include "common/base/cpu_info.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"

namespace hearth {
namespace {

constexpr size_t kCoresLeftFree = 2;
constexpr int kSmallHost = 4;

bool Contains(const std::vector<int>& cpus, int cpu) { return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end(); }

}  // namespace

CpuOffer OfferOfThisMachine() {
  CpuOffer offer;
  offer.allowed = AllowedCpus();
  offer.cores = PhysicalCores(offer.allowed);
  offer.first = FirstCores(kCoresLeftFree);
  offer.usable = UsableCpuCount();
  return offer;
}

CpuChoice ChooseCpus(const CpuOffer& offer, const std::string& list, std::optional<int64_t> threads) {
  CpuChoice choice;
  if (list == "auto") {
    // A cpuset that leaves the first two cores to the worker has nothing more to give up.
    for (int cpu : offer.cores) {
      if (!Contains(offer.first, cpu)) choice.cpus.push_back(cpu);
    }
    if (choice.cpus.empty()) choice.cpus.push_back(offer.cores.back());
    const size_t most = static_cast<size_t>(std::max(1, offer.usable));
    if (choice.cpus.size() > most) choice.cpus.resize(most);
    choice.pinned = offer.usable > kSmallHost;
  } else {
    choice.cpus = ParseCpuList(list);
    choice.pinned = true;
    for (int cpu : choice.cpus) {
      if (!Contains(offer.allowed, cpu)) {
        throw StartupError(StrCat("--ct-cpus names CPU ", cpu, ", which this process may not use; choose among its ",
                                  offer.allowed.size(), " allowed CPUs or auto"));
      }
    }
  }
  const size_t cpus = choice.cpus.size();
  const size_t count = threads ? static_cast<size_t>(*threads) : cpus;
  choice.cpus.resize(count);
  for (size_t i = cpus; i < count; ++i) choice.cpus[i] = choice.cpus[i - cpus];
  return choice;
}

}  // namespace hearth
