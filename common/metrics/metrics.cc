#include "common/metrics/metrics.h"

#include <prometheus/family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>

#include "common/base/check.h"

namespace hearth {
namespace {

template <typename T>
struct Declared {
  prometheus::Family<T>* family;
  std::string help;
};

template <typename T>
using DeclaredByName = std::map<std::string, Declared<T>>;

}  // namespace

struct Metrics::Families {
  mutable std::mutex mutex;
  prometheus::Registry registry;
  DeclaredByName<Counter> counters;
  DeclaredByName<Gauge> gauges;
  DeclaredByName<Histogram> histograms;
  std::vector<std::function<void()>> refreshers;

  template <typename T, typename Builder>
  prometheus::Family<T>& FamilyOf(DeclaredByName<T>& declared, Builder builder, const std::string& name,
                                  const std::string& help) {
    if (const auto found = declared.find(name); found != declared.end()) {
      HEARTH_CHECK(found->second.help == help, "two help texts for metric " + name);
      return *found->second.family;
    }
    const bool taken = counters.contains(name) || gauges.contains(name) || histograms.contains(name);
    HEARTH_CHECK(!taken, "two types for metric " + name);
    prometheus::Family<T>& family = builder.Name(name).Help(help).Register(registry);
    declared.emplace(name, Declared<T>{&family, help});
    return family;
  }
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::AddCounter(const std::string& name, const std::string& help, const MetricLabels& labels) {
  const std::lock_guard lock(families_->mutex);
  return families_->FamilyOf(families_->counters, prometheus::BuildCounter(), name, help).Add(labels);
}

Gauge& Metrics::AddGauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  const std::lock_guard lock(families_->mutex);
  return families_->FamilyOf(families_->gauges, prometheus::BuildGauge(), name, help).Add(labels);
}

Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                                 const MetricLabels& labels) {
  const std::lock_guard lock(families_->mutex);
  return families_->FamilyOf(families_->histograms, prometheus::BuildHistogram(), name, help).Add(labels, bounds);
}

void Metrics::OnExpose(std::function<void()> refresh) {
  const std::lock_guard lock(families_->mutex);
  families_->refreshers.push_back(std::move(refresh));
}

std::string Metrics::Expose() const {
  std::vector<std::function<void()>> refreshers;
  {
    // Refreshers run without the lock, so that they may add series.
    const std::lock_guard lock(families_->mutex);
    refreshers = families_->refreshers;
  }
  for (const auto& refresh : refreshers) refresh();
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

std::vector<double> RequestSecondsBuckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

std::vector<double> StepSecondsBuckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2};
}

}  // namespace hearth
