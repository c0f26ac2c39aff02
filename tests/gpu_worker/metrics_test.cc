#include "gpu_worker/metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace hearth {
namespace {

// "name type label,label" for each metric of an exposition.
std::set<std::string> Describe(const std::string& exposition) {
  std::map<std::string, std::string> types;
  std::map<std::string, std::set<std::string>> labels;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, name;
    if (line.starts_with("# TYPE ")) {
      words >> word >> word >> name >> word;
      types[name] = word;
      continue;
    }
    if (line.starts_with("#")) continue;
    name = line.substr(0, line.find_first_of("{ "));
    for (const char* suffix : {"_bucket", "_sum", "_count"}) {
      if (!types.contains(name) && name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
    }
    if (line[line.find_first_of("{ ")] != '{') continue;
    const std::string inside = line.substr(line.find('{') + 1, line.find('}') - line.find('{') - 1);
    std::istringstream pairs(inside);
    for (std::string pair; std::getline(pairs, pair, ',');) {
      if (const std::string label = pair.substr(0, pair.find('=')); label != "le") labels[name].insert(label);
    }
  }
  std::set<std::string> described;
  for (const auto& [name, type] : types) {
    std::string list;
    for (const std::string& label : labels[name]) list += (list.empty() ? "" : ",") + label;
    described.insert(name + " " + type + " " + (list.empty() ? "-" : list));
  }
  return described;
}

TEST(WorkerMetrics, NamesTypesAndLabelsAreThePromisedOnes) {
  std::set<std::string> golden;
  std::ifstream file(HEARTH_SOURCE_DIR "/tests/golden/metrics_worker.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) golden.insert(line);
  }
  ASSERT_FALSE(golden.empty());
  const WorkerMetrics metrics("fast");
  EXPECT_EQ(Describe(metrics.Expose()), golden);
}

TEST(WorkerMetrics, CountsWhatTheLoopTells) {
  WorkerMetrics metrics("exact");
  metrics.Finished(FinishReason::kStop, 1);
  metrics.Failed(StatusCode::kCancelled, RequestPhase::kPrefill);
  metrics.NotRead(RequestSpec{.id = "r", .tokens = {1}, .kind = GenerateSpec{}});
  metrics.Failed(StatusCode::kDeadlineExceeded, RequestPhase::kDecode);
  metrics.Failed(StatusCode::kInvalidArgument, RequestPhase::kDecode);
  metrics.Failed(StatusCode::kFailedPrecondition, RequestPhase::kDecode);
  metrics.Failed(StatusCode::kNotFound, RequestPhase::kDecode);  // has no series of its own
  WorkerGauges gauges;
  gauges.loop.counts.admitted = 3;
  gauges.loop.counts.paused = 1;
  gauges.loop.counts.completion_tokens = 42;
  gauges.lanes.bytes.pcie = 1000;
  gauges.lanes.cpu_wait_ns = 2'500'000'000;
  metrics.ReadFrom([&] { return gauges; });
  metrics.Expose();
  const std::string text = metrics.Expose();
  for (const char* line :
       {"hearth_request_success_total{finish_reason=\"stop\"} 1\n", "hearth_cancelled_total{phase=\"prefill\"} 1\n",
        "hearth_cancelled_total{phase=\"decode\"} 1\n", "hearth_request_errors_total{code=\"deadline_exceeded\"} 1\n",
        "hearth_request_errors_total{code=\"invalid_argument\"} 1\n",
        "hearth_request_errors_total{code=\"failed_precondition\"} 1\n",
        "hearth_request_errors_total{code=\"internal\"} 1\n", "hearth_requests_running 2\n",
        "hearth_requests_waiting 1\n", "hearth_generation_tokens_total 42\n",
        "hearth_expert_bytes_total{lane=\"pcie\"} 1000\n", "hearth_cpu_tier_wait_seconds 2.5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace hearth
