#include "tools/doctor/model_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/byte_size.h"

namespace hearth::doctor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kTiny = HEARTH_SOURCE_DIR "/models/hearth-tiny";

class ModelNeedsTest : public ::testing::Test {
 protected:
  ModelNeedsTest() {
    char name[] = "/tmp/hearth-test.XXXXXX";
    dir_ = ::mkdtemp(name);
  }
  ~ModelNeedsTest() override { fs::remove_all(dir_); }

  // Sparse: it takes no room on the disk.
  void Put(const std::string& path, uint64_t bytes) {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path).flush();
    fs::resize_file(dir_ / path, bytes);
  }
  // What the folder, or a synthetic model, is said to need when it is served with a gateway.
  ModelNeeds Read(const std::string& model, const std::string& tokenizer_dir = "") {
    return ReadModelNeeds({.model = model, .home_dir = "/dev/shm", .tokenizer_dir = tokenizer_dir});
  }
  uint64_t ToDownload() { return Read(dir_).download_bytes; }

  fs::path dir_;
};

TEST_F(ModelNeedsTest, WhatACutDownloadHasLeftIsNotFetchedAgain) {
  const uint64_t all = ToDownload();
  Put(".hearth-downloading", 0);
  Put("config.json", 0);
  Put("model-00001-of-00002.safetensors", 2 * kGiB);
  Put(".cache/huggingface/download/x.abc.incomplete", kGiB);
  EXPECT_EQ(ToDownload(), all - 3 * kGiB);
  Put(".cache/hub/chunks", kGiB);
  EXPECT_EQ(ToDownload(), all - 3 * kGiB) << "the client's own folder is no part of the checkpoint";
  Put("model-00002-of-00002.safetensors", 200 * kGiB);
  EXPECT_EQ(ToDownload(), 0u) << "never less than nothing";
}

TEST_F(ModelNeedsTest, OtherFilesAreNoDownload) {
  const uint64_t all = ToDownload();
  Put("model-00001-of-00002.safetensors", 2 * kGiB);
  EXPECT_EQ(ToDownload(), all);
}

// hearth-tiny with one file of its own.
class CheckpointNeedsTest : public ModelNeedsTest {
 protected:
  CheckpointNeedsTest() {
    for (const auto& entry : fs::directory_iterator(kTiny)) {
      fs::create_symlink(entry.path(), dir_ / entry.path().filename());
    }
  }
  void Write(const std::string& name, const std::string& text) {
    fs::remove(dir_ / name);
    std::ofstream(dir_ / name) << text;
  }
};

TEST_F(CheckpointNeedsTest, AWholeCheckpointHasNoProblem) {
  const ModelNeeds needs = Read(dir_);
  EXPECT_TRUE(needs.present);
  EXPECT_EQ(needs.problem, "");
}

TEST_F(CheckpointNeedsTest, TheGatewaysRefusalsOfATokenizerAreProblems) {
  const std::string path = dir_ / "tokenizer.json", begin = "the tokenizer of " + dir_.string();
  const std::string another = "; HEARTH_MODEL_DIR names the gateway another folder";
  fs::remove(path);
  const std::string missing = begin + " cannot be used: " + path + ": cannot be opened" + another;
  EXPECT_EQ(Read(dir_).problem, missing);
  fs::create_symlink("tokenizer.json", path);
  EXPECT_EQ(Read(dir_).problem, missing) << "a loop of symlinks";
  Write("tokenizer.json", "{}");
  EXPECT_THAT(Read(dir_).problem, HasSubstr(begin + " cannot be used: " + path + ": model.vocab is missing"));
  nlohmann::json larger = nlohmann::json::parse(std::ifstream(kTiny + "/tokenizer.json"));
  larger["added_tokens"].push_back({{"id", 9'999},
                                    {"content", "<|beyond|>"},
                                    {"special", true},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false}});
  Write("tokenizer.json", larger.dump());
  EXPECT_THAT(Read(dir_).problem, AllOf(HasSubstr(begin + " has 10000 ids, the worker's model "), HasSubstr(another)));
}

TEST_F(CheckpointNeedsTest, TheGatewaysOwnTokenizerCountsInsteadOfTheModels) {
  fs::remove(dir_ / "tokenizer.json");
  EXPECT_EQ(Read(dir_, kTiny).problem, "");
  EXPECT_EQ(Read(dir_, kElsewhere).problem, "") << "a worker serves without";
  EXPECT_THAT(Read(kTiny, dir_).problem, HasSubstr("the tokenizer of " + dir_.string() + " cannot be used"));
}

TEST_F(CheckpointNeedsTest, TheWorkersRefusalsOfGenerationSettingsAreProblems) {
  Write("generation_config.json", R"({"eos_token_id": [99999]})");
  EXPECT_THAT(Read(dir_).problem, HasSubstr(dir_.string() + ": generation_config.json: eos_token_id"));
  Write("generation_config.json", R"({"temperature": -1})");
  EXPECT_THAT(Read(dir_).problem, HasSubstr("generation_config.json: temperature is -1"));
}

TEST_F(CheckpointNeedsTest, ASyntheticModelIsServedWithTheTokenizerOfAnother) {
  const std::string shape = "synthetic:" HEARTH_SOURCE_DIR "/tools/synthetic/real_shape.json";
  const ModelNeeds needs = Read(shape, kElsewhere);
  EXPECT_TRUE(needs.present);
  EXPECT_EQ(needs.problem, "");
  EXPECT_GT(needs.home_bytes, 100 * kGiB);
  EXPECT_EQ(Read(shape, kTiny).problem, "");
  EXPECT_THAT(Read(shape).problem, HasSubstr("the tokenizer of " + shape + " cannot be used"));
  EXPECT_THAT(Read("synthetic:/nowhere.json").problem, HasSubstr("/nowhere.json: does not exist"));
}

}  // namespace
}  // namespace hearth::doctor
