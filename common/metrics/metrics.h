#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hearth {

using Counter = prometheus::Counter;      // Increment(), Increment(n), Value()
using Gauge = prometheus::Gauge;          // Set(v), Increment(), Decrement(), Value()
using Histogram = prometheus::Histogram;  // Observe(v)
using MetricLabels = std::map<std::string, std::string>;

// Owner of a process's metrics. Adding a name again with other labels gives a further series of it; with the same
// labels, the same series. A name keeps its first type and help text; another one is a bug. The references returned
// live as long as this object. All members are thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter& AddCounter(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  // `bounds`: upper bounds of the buckets, ascending; +Inf is added.
  Histogram& AddHistogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                          const MetricLabels& labels = {});

  // Runs before every exposition, to bring gauges and counters up to date from state that lives elsewhere. What it
  // refers to must outlive this object or the last Expose().
  void OnExpose(std::function<void()> refresh);

  // All metrics in the Prometheus text format.
  std::string Expose() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// Bucket bounds in seconds: 1 ms to 60 s, for whole requests and waits.
std::vector<double> RequestSecondsBuckets();
// Bucket bounds in seconds: 100 us to 2 s, for steps and gaps between tokens.
std::vector<double> StepSecondsBuckets();

}  // namespace hearth
