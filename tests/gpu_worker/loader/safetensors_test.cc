#include "gpu_worker/loader/safetensors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/gpu_worker/loader/checkpoint_editor.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

using nlohmann::json;
using testing::TempDir;
using testing::WithHeader;
using testing::WriteFile;

// Writes the file into `directory`, opens it and reads every tensor. "" when nothing is wrong with it.
std::string Problem(const TempDir& directory, const std::string& bytes) {
  const std::string path = directory / "a.safetensors";
  WriteFile(path, bytes);
  try {
    const SafetensorsFile file(path);
    for (const TensorInfo& tensor : file.tensors()) {
      std::string data(tensor.bytes, '\0');
      file.Read(tensor, 0, tensor.bytes, data.data());
    }
  } catch (const StartupError& error) {
    EXPECT_EQ(std::string(error.what()).rfind(path, 0), 0u) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

std::string Entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t": {"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}";
}

TEST(Safetensors, ReadsTensorsAtOddOffsets) {
  TempDir directory;
  const std::string header = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                             R"("b":{"dtype":"F32","shape":[2,1],"data_offsets":[3,11]}})";
  WriteFile(directory / "x", WithHeader(header, "abcdefghijk"));
  const SafetensorsFile file(directory / "x");
  ASSERT_EQ(file.tensors().size(), 2u);
  const TensorInfo& b = file.tensors()[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, DType::kF32);
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 1}));
  char data[5] = {};
  file.Read(b, 2, 4, data);
  EXPECT_STREQ(data, "fghi");
}

TEST(Safetensors, RefusesBrokenFiles) {
  TempDir directory;
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "0 bytes"},
      {"1234567", "7 bytes"},
      {std::string("\xFF\xFF\xFF\x04\0\0\0\0", 8), "header of 83886079 bytes in a file of 8"},
      {std::string(8, '\xFF'), "at most"},
      {WithHeader("[]", ""), "no JSON object"},
      {WithHeader("{\"a\":", ""), "not valid JSON"},
      {WithHeader(std::string(1000, '{'), ""), "deeper"},
      {WithHeader("{\"t\":1}", ""), "tensor t: the header entry is no object"},
      {WithHeader(R"({"t":{}})", ""), "no dtype"},
      {WithHeader(Entry("F4", "[2]", "[0,8]"), "12345678"), "dtype \"F4\" is unknown"},
      {WithHeader(Entry("F32", "2", "[0,8]"), "12345678"), "no shape"},
      {WithHeader(Entry("F32", "[-2]", "[0,8]"), "12345678"), "shape is [-2]"},
      {WithHeader(Entry("F32", "[2.0]", "[0,8]"), "12345678"), "shape is [2.0]"},
      {WithHeader(Entry("F32", "[4294967296,4294967296]", "[0,0]"), ""), "overflows"},
      {WithHeader(Entry("F32", "[2]", "[0]"), "12345678"), "data_offsets are [0], expected two"},
      {WithHeader(Entry("F32", "[2]", "[-1,7]"), "12345678"), "data_offsets are [-1,7], expected two"},
      {WithHeader(Entry("F32", "[2]", "[8,0]"), "12345678"), "data_offsets are [8,0]"},
      {WithHeader(Entry("F32", "[2]", "[0,7]"), "12345678"), "takes 8 bytes"},
      {WithHeader(Entry("F32", "[2]", "[1,9]"), "12345678"), "truncated"},
      {WithHeader(Entry("F32", "[2]", "[18446744073709551608,18446744073709551615]"), "12345678"), "data_offsets"},
      {WithHeader(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                  R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                  "12345678"),
       "tensor b: overlaps a"},
      {WithHeader(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                  R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                  "12345678"),
       "a occurs twice"},
      {WithHeader(R"({"a\nb":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234"), "control characters"},
  };
  for (const auto& [bytes, expected] : cases) {
    const std::string problem = Problem(directory, bytes);
    EXPECT_NE(problem.find(expected), std::string::npos) << expected << " is not in: " << problem;
  }
}

TEST(Safetensors, RefusesWhatIsNoFile) {
  TempDir directory;
  EXPECT_THROW(SafetensorsFile{directory.path()}, StartupError);
  EXPECT_THROW(SafetensorsFile{directory / "missing"}, StartupError);
}

std::map<std::string, testing::CheckpointEditor::Tensor> SmallTensors() {
  return {{"a.weight", {"F16", {3, 5}, std::string(30, 'a')}},
          {"b.trellis", {"I16", {2, 1, 16}, std::string(64, 'b')}},
          {"c.mul1", {"I32", {}, "1234"}},
          {"d", {"U8", {7}, "1234567"}}};
}

// Structure-aware: changes values inside the header's JSON, then single bytes of the whole file.
TEST(Safetensors, SurvivesMutations) {
  TempDir directory;
  std::mt19937_64 random(7);
  int loaded = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string file = testing::SafetensorsBytes(SmallTensors());
    const uint64_t length = static_cast<unsigned char>(file[0]) | static_cast<unsigned char>(file[1]) << 8;
    if (i % 2 == 0) {
      json header = json::parse(file.substr(8, length));
      auto entry = header.begin();
      std::advance(entry, static_cast<long>(random() % header.size()));
      const json values[] = {0,
                             -1,
                             1,
                             30,
                             31,
                             94,
                             104,
                             105,
                             1e30,
                             UINT64_MAX,
                             INT64_MAX,
                             "F32",
                             "F8_E4M3",
                             nullptr,
                             json::array(),
                             json::array({1}),
                             json::array({0, 30}),
                             json::array({UINT64_MAX, 2})};
      const json& value = values[random() % std::size(values)];
      const char* keys[] = {"dtype", "shape", "data_offsets"};
      json& field = (*entry)[keys[random() % 3]];
      if (field.is_array() && !field.empty() && random() % 2) {
        field[random() % field.size()] = value;
      } else {
        field = value;
      }
      file = WithHeader(header.dump(), file.substr(8 + length));
    } else {
      for (uint64_t n = 1 + random() % 4; n > 0; --n) file[random() % file.size()] = static_cast<char>(random());
      if (random() % 4 == 0) file.resize(random() % file.size());
    }
    (Problem(directory, file).empty() ? loaded : refused) += 1;
  }
  EXPECT_GT(loaded, 20);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hearth
