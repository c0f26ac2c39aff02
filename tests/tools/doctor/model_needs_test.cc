#include "tools/doctor/model_needs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "common/base/byte_size.h"

namespace hearth::doctor {
namespace {

namespace fs = std::filesystem;

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
  uint64_t ToDownload() { return ReadModelNeeds(dir_, "/dev/shm", false).download_bytes; }

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

}  // namespace
}  // namespace hearth::doctor
