#include "common/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, ExposesEveryKindInTheTextFormat) {
  Metrics metrics;
  metrics.AddCounter("hearth_a_total", "Things.", {{"path", "hit"}}).Increment(2);
  metrics.AddCounter("hearth_a_total", "Things.", {{"path", "miss"}});
  metrics.AddGauge("hearth_b", "Level.").Set(1.5);
  metrics.AddHistogram("hearth_c_seconds", "Times.", {0.1, 1}).Observe(0.5);
  const std::string text = metrics.Expose();
  EXPECT_THAT(text, HasSubstr("# HELP hearth_a_total Things.\n# TYPE hearth_a_total counter\n"));
  EXPECT_THAT(text, HasSubstr("hearth_a_total{path=\"hit\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("hearth_a_total{path=\"miss\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE hearth_b gauge\nhearth_b 1.5\n"));
  EXPECT_THAT(text, HasSubstr("hearth_c_seconds_bucket{le=\"0.1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("hearth_c_seconds_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hearth_c_seconds_bucket{le=\"+Inf\"} 1\n"));
  EXPECT_EQ(text.find("# TYPE hearth_a_total"), text.rfind("# TYPE hearth_a_total"));
}

TEST(Metrics, GivesTheSameSeriesForTheSameLabels) {
  Metrics metrics;
  Counter& first = metrics.AddCounter("hearth_a_total", "Things.", {{"x", "1"}});
  EXPECT_EQ(&metrics.AddCounter("hearth_a_total", "Things.", {{"x", "1"}}), &first);
  EXPECT_NE(&metrics.AddCounter("hearth_a_total", "Things.", {{"x", "2"}}), &first);
}

TEST(Metrics, RefreshesBeforeExposing) {
  Metrics metrics;
  Gauge& level = metrics.AddGauge("hearth_level", "Level.");
  int calls = 0;
  metrics.OnExpose([&] { level.Set(++calls); });
  EXPECT_THAT(metrics.Expose(), HasSubstr("hearth_level 1\n"));
  EXPECT_THAT(metrics.Expose(), HasSubstr("hearth_level 2\n"));
}

TEST(MetricsDeathTest, OneNameHasOneTypeAndOneHelp) {
  Metrics metrics;
  metrics.AddCounter("hearth_a_total", "Things.");
  EXPECT_DEATH(metrics.AddGauge("hearth_a_total", "Things."), "two types for metric hearth_a_total");
  EXPECT_DEATH(metrics.AddCounter("hearth_a_total", "Other."), "two help texts for metric hearth_a_total");
}

}  // namespace
}  // namespace hearth
