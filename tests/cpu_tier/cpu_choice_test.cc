#include "cpu_tier/cpu_choice.h"

#include <gtest/gtest.h>

#include "common/base/startup_error.h"

namespace hearth {
namespace {

using Cpus = std::vector<int>;

TEST(CpuChoice, AutoLeavesTheFirstTwoCoresFree) {
  const CpuOffer offer{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {0, 1, 2, 3, 4, 5}, {0, 6, 1, 7}, 12};
  const CpuChoice choice = ChooseCpus(offer, "auto", std::nullopt);
  EXPECT_EQ(choice.cpus, (Cpus{2, 3, 4, 5}));
  EXPECT_TRUE(choice.pinned);
}

TEST(CpuChoice, AutoTakesEveryCoreOfACpusetThatLeavesTheFirstTwo) {
  const CpuOffer offer{{2, 3, 4, 5, 6, 7}, {2, 3, 4, 5, 6, 7}, {0, 1}, 6};
  EXPECT_EQ(ChooseCpus(offer, "auto", std::nullopt).cpus, (Cpus{2, 3, 4, 5, 6, 7}));
}

TEST(CpuChoice, AutoLeavesWhatACpusetHasOfTheFirstTwo) {
  EXPECT_EQ(ChooseCpus({{1, 2, 3}, {1, 2, 3}, {0, 1}, 3}, "auto", std::nullopt).cpus, (Cpus{2, 3}));
  // CPU 8 is the second thread of the machine's first core.
  EXPECT_EQ(ChooseCpus({{2, 3, 8}, {2, 3, 8}, {0, 8, 1, 9}, 3}, "auto", std::nullopt).cpus, (Cpus{2, 3}));
}

TEST(CpuChoice, AtLeastOneThreadAndNoPinsOnASmallHost) {
  EXPECT_EQ(ChooseCpus({{0, 1}, {0, 1}, {0, 1}, 2}, "auto", std::nullopt).cpus, Cpus{1});
  EXPECT_FALSE(ChooseCpus({{0, 1}, {0, 1}, {0, 1}, 2}, "auto", std::nullopt).pinned);
  EXPECT_EQ(ChooseCpus({{0, 1, 2}, {0, 1}, {0, 2, 1}, 3}, "auto", std::nullopt).cpus, Cpus{1});
  EXPECT_EQ(ChooseCpus({{5}, {5}, {0, 1}, 1}, "auto", std::nullopt).cpus, Cpus{5});
}

TEST(CpuChoice, StaysInsideTheQuota) {
  const CpuOffer offer{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1}, 3};
  EXPECT_EQ(ChooseCpus(offer, "auto", std::nullopt).cpus, (Cpus{2, 3, 4}));
}

TEST(CpuChoice, TakesAListAndANumberOfThreads) {
  const CpuOffer offer{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1}, 8};
  EXPECT_EQ(ChooseCpus(offer, "1,6-7", std::nullopt).cpus, (Cpus{1, 6, 7}));
  EXPECT_EQ(ChooseCpus(offer, "1,6-7", 2).cpus, (Cpus{1, 6}));
  EXPECT_EQ(ChooseCpus(offer, "1", 3).cpus, (Cpus{1, 1, 1}));
  EXPECT_EQ(ChooseCpus(offer, "auto", 1).cpus, Cpus{2});
}

TEST(CpuChoice, RefusesCpusOutsideTheCpuset) {
  try {
    ChooseCpus({{0, 1}, {0, 1}, {0, 1}, 2}, "1,9", std::nullopt);
    FAIL() << "accepted";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("CPU 9"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hearth
