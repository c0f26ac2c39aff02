#include "gpu_worker/popularity_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace hearth {
namespace {

namespace fs = std::filesystem;

class PopularityFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "popularity.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ / "hearth-popularity.json"; }
  PopularityFile Open(uint32_t layers = 2, uint32_t experts = 3) const {
    return PopularityFile("", folder_, false, layers, experts);
  }
  void Write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string Read() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }

  fs::path folder_;
  const Popularity seen_{.layers = 2, .experts = 3, .tokens = 100, .picks = {0.5, 0, 0.125, 1, 0.0625, 1e-5}};
};

TEST_F(PopularityFiles, WhatIsSavedIsReadAgain) {
  PopularityFile file = Open();
  EXPECT_EQ(file.path(), path());
  EXPECT_EQ(file.earlier().tokens, 0);
  file.Save(seen_);
  const PopularityFile again = Open();
  EXPECT_EQ(again.earlier().tokens, 100);
  EXPECT_EQ(again.earlier().picks, seen_.picks);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing else is left";
}

TEST_F(PopularityFiles, SavingTwiceCountsOnce) {
  Open().Save(seen_);
  PopularityFile file = Open();
  Popularity more = seen_;
  file.Save(more);
  more.tokens = 300;
  file.Save(more);
  EXPECT_EQ(Open().earlier().tokens, 400) << "100 of the run before, 300 of this one";
}

TEST_F(PopularityFiles, ARunThatSawNothingLeavesTheRecord) {
  Open().Save(seen_);
  const std::string before = Read();
  Open().Save({.layers = 2, .experts = 3, .tokens = 0, .picks = std::vector<double>(6)});
  EXPECT_EQ(Read(), before);
}

TEST_F(PopularityFiles, WhatIsNoRecordIsLeftAlone) {
  const std::string good = R"({"format": "hearth-expert-popularity", "version": 1, "layers": 2, "experts": 3,
                              "tokens": 5, "picks_per_token": [[1, 2, 3], [4, 5, 6]]})";
  Write(good);
  ASSERT_EQ(Open().earlier().tokens, 5);
  const std::pair<const char*, const char*> changes[] = {{"hearth-expert-popularity", "something else"},
                                                         {"\"version\": 1", "\"version\": 2"},
                                                         {"\"layers\": 2", "\"layers\": 3"},
                                                         {"\"experts\": 3", "\"experts\": \"3\""},
                                                         {"\"tokens\": 5", "\"tokens\": -5"},
                                                         {"\"tokens\": 5", "\"tokens\": null"},
                                                         {"[4, 5, 6]", "[4, 5]"},
                                                         {", [4, 5, 6]", ""},
                                                         {"[4, 5, 6]", "[4, 5, -6]"},
                                                         {"[4, 5, 6]", "[4, 5, 1e300]"},
                                                         {"[4, 5, 6]", "{}"},
                                                         {"]]}", "]]"},
                                                         {"{\"format\"", "[\"format\""}};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    text.replace(text.find(from), std::string(from).size(), to);
    Write(text);
    PopularityFile file = Open();
    EXPECT_EQ(file.earlier().tokens, 0) << text;
    EXPECT_EQ(file.path(), "") << text;
    file.Save(seen_);
    EXPECT_EQ(Read(), text);
  }
}

TEST_F(PopularityFiles, AFolderInItsPlaceIsNoRecord) {
  fs::create_directory(path());
  EXPECT_EQ(Open().path(), "");
}

TEST_F(PopularityFiles, NoneAndSyntheticModelsRecordNothing) {
  EXPECT_EQ(PopularityFile("none", folder_, false, 2, 3).path(), "");
  EXPECT_EQ(PopularityFile("", "synthetic:x.json", true, 2, 3).path(), "");
  EXPECT_EQ(PopularityFile(path(), "synthetic:x.json", true, 2, 3).path(), path());
}

TEST_F(PopularityFiles, APlaceThatCannotBeWrittenIsGivenUpOnce) {
  PopularityFile file(folder_ / "missing" / "file.json", folder_, false, 2, 3);
  EXPECT_NE(file.path(), "");
  file.Save(seen_);
  EXPECT_EQ(file.path(), "");
}

}  // namespace
}  // namespace hearth
