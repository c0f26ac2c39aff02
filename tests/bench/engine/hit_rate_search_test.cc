#include "bench/engine/hit_rate_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/experts/policy_replay.h"
#include "bench/experts/routing_trace.h"

namespace hearth {
namespace {

// The rate of the cache that serves, on independent picks. Their law is not the router's, so the search has to learn.
double Replay(double zipf, int slots) {
  RoutingTrace trace({.layers = 10, .drift = 0, .zipf = zipf});
  PolicyReplay replay({.layers = 10, .slots = slots});
  for (int token = 0; token < 300; ++token) replay.Decode(trace.NextToken());
  replay.TakeFigures();
  for (int token = 0; token < 200; ++token) replay.Decode(trace.NextToken());
  return replay.TakeFigures().hit_rate;
}

// The measurements until one is within half a point, 9 when none is.
int Measurements(double wanted, double zipf, int slots) {
  HitRateSearch search({288, 8, slots / 10.0}, wanted);
  for (int runs = 1; runs <= 8; ++runs) {
    const double rate = Replay(zipf, slots);
    if (std::abs(rate - wanted) <= 0.005) return runs;
    zipf = search.Next(zipf, rate);
    EXPECT_GE(zipf, HitRateSearch::kLeastZipf);
    EXPECT_LE(zipf, HitRateSearch::kMostZipf);
  }
  return 9;
}

TEST(HitRateSearch, ReachesTheRateInFewMeasurements) {
  for (double begin : {0.3, 0.65, 0.9}) {
    EXPECT_LE(Measurements(0.39, begin, 312), 4) << "from " << begin;
    EXPECT_LE(Measurements(0.55, begin, 312), 4) << "from " << begin;
    EXPECT_LE(Measurements(0.25, begin, 150), 4) << "from " << begin;
  }
}

TEST(HitRateSearch, GoesOnWhenTheRateMovesTheWrongWay) {
  HitRateSearch search({32, 4, 6}, 0.39);
  const double second = search.Next(0.55, 0.396);
  EXPECT_LT(second, 0.55);
  const double third = search.Next(second, 0.399);
  EXPECT_LT(third, second);
  const double fourth = search.Next(third, 0.380);
  EXPECT_GT(fourth, third) << "between a rate that was too low and one that was too high";
  EXPECT_LT(fourth, 0.55);
}

}  // namespace
}  // namespace hearth
