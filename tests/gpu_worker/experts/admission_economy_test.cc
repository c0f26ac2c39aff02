// Admission must pay: hit rates and copies of the cache's own policy on routing of known laws. A third of the real
// model's layers and slots at its full width; admissions are scaled to 42 layers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/experts/policy_replay.h"
#include "bench/experts/routing_trace.h"

namespace hearth {
namespace {

constexpr int kTokens = 2500, kWarm = 500;
constexpr double kScale = 3;

RoutingTrace::Shape Law(double spread, double drift, double memory) {
  RoutingTrace::Shape shape;
  shape.layers = 14;
  shape.spread = spread;
  shape.drift = drift;
  shape.memory = memory;
  return shape;
}

RoutingTrace::Shape StationaryZipf() {
  RoutingTrace::Shape shape = Law(0, 0, 1);
  shape.zipf = 0.6;
  return shape;
}

PolicyReplay::Setup Cache(cache::Admission admission = cache::Admission::kByFrequency) {
  PolicyReplay::Setup setup;
  setup.layers = 14;
  setup.slots = 437;
  setup.admission = admission;
  return setup;
}

using Tokens = std::vector<std::vector<int32_t>>;

Tokens Trace(const RoutingTrace::Shape& law) {
  RoutingTrace source(law);
  Tokens trace;
  for (int token = 0; token < kTokens; ++token) trace.push_back(source.NextToken());
  return trace;
}

const Tokens& StationaryTrace() {
  static const Tokens trace = Trace(StationaryZipf());
  return trace;
}

struct Economy : PolicyReplay::Figures {
  double half_life = 0;  // at the end
};

Economy Replay(const Tokens& trace, const PolicyReplay::Setup& setup, size_t streams = 1, size_t warm = kWarm) {
  PolicyReplay replay(setup);
  const size_t steps = trace.size() / streams;
  Tokens rows(streams);
  for (size_t step = 0; step < steps; ++step) {
    if (step == warm) replay.TakeFigures();
    for (size_t s = 0; s < streams; ++s) rows[s] = trace[s * steps + step];
    replay.Decode(rows);
  }
  Economy economy{replay.TakeFigures(), replay.half_life()};
  economy.admissions *= kScale;
  return economy;
}

TEST(AdmissionEconomy, DefaultTrafficHitsMoreThanTheBestFixedSetWithFewCopies) {
  const auto trace = Trace({.layers = 14});
  const Economy f = Replay(trace, Cache());
  EXPECT_GE(f.hit_rate, 0.48);
  EXPECT_LE(f.admissions, 10);
  EXPECT_GT(f.hit_rate, BestFixedSet({trace.begin() + kWarm, trace.end()}, Cache()));
}

TEST(AdmissionEconomy, DriftingTrafficIsFollowed) {
  for (const RoutingTrace::Shape& law : {Law(0.8, 1.3, 250), Law(0.4, 1.6, 120)}) {
    SCOPED_TRACE("spread " + std::to_string(law.spread));
    const auto trace = Trace(law);
    const Economy f = Replay(trace, Cache()), clock = Replay(trace, Cache(cache::Admission::kAlways));
    EXPECT_GE(f.hit_rate, clock.hit_rate);
    EXPECT_LE(f.admissions, 20);
    EXPECT_LE(f.half_life, 64);
  }
}

TEST(AdmissionEconomy, IndependentPicksAreNotChurned) {
  const Tokens& trace = StationaryTrace();
  const double best = BestFixedSet({trace.begin() + kWarm, trace.end()}, Cache());
  const Economy f = Replay(trace, Cache());
  EXPECT_LE(f.admissions, 5);
  EXPECT_GE(f.half_life, 256);
  EXPECT_GE(f.hit_rate, best - 0.02);
}

// Whatever the tuner was led to believe, the margin alone bounds the copies.
TEST(AdmissionEconomy, EvenTheShortestHalfLifeDoesNotChurn) {
  PolicyReplay::Setup setup = Cache();
  setup.half_life = cache::kShortestHalfLife;
  EXPECT_LE(Replay(StationaryTrace(), setup).admissions, 6);
}

TEST(AdmissionEconomy, StreamsThatShareStepsCopyNoMorePerToken) {
  EXPECT_LE(Replay(StationaryTrace(), Cache(), 4, 300).admissions, 5);
}

// 32,768 tokens in chunks, whose picks follow other favourites than the stream's, between two tokens of the stream.
std::vector<PolicyReplay::Figures> AroundAPrefill(int32_t chunk, int32_t lent) {
  constexpr int kSample = 32;  // tokens drawn per chunk, each standing for chunk / kSample rows
  const PolicyReplay::Setup setup = Cache();
  RoutingTrace::Shape law = StationaryZipf();
  RoutingTrace stream(law);
  law.seed = 99;
  RoutingTrace prompt(law);
  PolicyReplay replay(setup);
  const auto decode = [&](int tokens) {
    for (int token = 0; token < tokens; ++token) replay.Decode(stream.NextToken());
    return replay.TakeFigures();
  };
  decode(1000);
  std::vector<PolicyReplay::Figures> figures = {decode(200)};
  for (int done = 0; done < 32768; done += chunk) {
    std::vector<int32_t> counts(static_cast<size_t>(setup.layers * setup.experts));
    for (int token = 0; token < kSample; ++token) {
      const std::vector<int32_t>& picks = prompt.NextToken();
      for (size_t i = 0; i < picks.size(); ++i) {
        const int layer = static_cast<int>(i) / setup.picks;
        counts[static_cast<size_t>(layer * setup.experts + picks[i])] += chunk / kSample;
      }
    }
    replay.Prefill(counts, chunk, lent);
  }
  const double half_life = replay.half_life();
  figures.push_back(decode(50));
  figures.push_back(decode(200));
  EXPECT_GE(half_life, 256) << "the tuner took a prefill for decode";
  return figures;
}

TEST(AdmissionEconomy, ALongPrefillDoesNotWashTheCacheOut) {
  const std::vector<PolicyReplay::Figures> f = AroundAPrefill(8192, 0);
  EXPECT_GE(f[1].hit_rate, f[0].hit_rate - 0.02);
  EXPECT_GE(f[2].hit_rate, f[0].hit_rate - 0.02);
  EXPECT_LE(kScale * f[1].admissions, 5);
}

TEST(AdmissionEconomy, SlotsLentToAPrefillFillAgainWithTheFavouritesOfDecode) {
  const std::vector<PolicyReplay::Figures> f = AroundAPrefill(8192, 192);
  EXPECT_GE(f[1].hit_rate, f[0].hit_rate - 0.06);  // 50 tokens, the empty slots at first included
  EXPECT_GE(f[2].hit_rate, f[0].hit_rate - 0.02);
}

}  // namespace
}  // namespace hearth
