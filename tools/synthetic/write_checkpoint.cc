#include "tools/synthetic/write_checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "common/base/startup_error.h"
#include "gpu_worker/loader/json_text.h"
#include "gpu_worker/loader/small_file.h"
#include "gpu_worker/synthetic/model_files.h"
#include "gpu_worker/synthetic/synthetic_settings.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxConfig = 16'000'000;
constexpr uint64_t kPieceBytes = 64 << 20;

void WriteOrThrow(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw StartupError(path + ": cannot be written; is there room?");
}

using Tensors = std::vector<const TensorInfo*>;

std::vector<Tensors> CutIntoShards(const TensorSource& source, uint64_t shard_bytes) {
  std::vector<Tensors> shards(1);
  uint64_t filled = 0;
  for (const std::string& name : source.Names()) {
    const TensorInfo* tensor = source.Find(name);
    if (filled > 0 && filled + tensor->bytes > shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(tensor);
    filled += tensor->bytes;
  }
  return shards;
}

std::string HeaderOf(const Tensors& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const TensorInfo* t : tensors) {
    header[t->name] = {
        {"dtype", DTypeName(t->dtype)}, {"shape", t->shape}, {"data_offsets", {offset, offset + t->bytes}}};
    offset += t->bytes;
  }
  return header.dump();
}

void WriteShard(const TensorSource& source, const Tensors& tensors, const std::string& path,
                const std::function<void(uint64_t)>& wrote) {
  std::ofstream out(path, std::ios::binary);
  const std::string header = HeaderOf(tensors);
  const uint64_t length = header.size();  // little endian, as this machine is
  out.write(reinterpret_cast<const char*>(&length), sizeof length) << header;
  std::vector<char> piece;
  for (const TensorInfo* tensor : tensors) {
    for (uint64_t begin = 0; begin < tensor->bytes; begin += kPieceBytes) {
      piece.resize(std::min(kPieceBytes, tensor->bytes - begin));
      source.Read(*tensor, begin, piece.size(), piece.data());
      out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
      wrote(piece.size());
    }
    if (!out) break;
  }
  out.close();
  if (!out) throw StartupError(path + ": cannot be written; is there room?");
}

}  // namespace

void WriteCheckpoint(const std::string& shape, const std::string& directory, uint64_t shard_bytes,
                     const std::function<void(uint64_t, uint64_t)>& progress) {
  const ModelFiles model = OpenModel(kSyntheticPrefix + shape);
  if (std::filesystem::exists(directory + "/config.json")) {
    throw StartupError(directory + ": has a config.json already; choose a new directory");
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw StartupError(directory + ": cannot be made: " + error.message());

  const std::vector<Tensors> shards = CutIntoShards(*model.tensors, shard_bytes);
  uint64_t total = 0, done = 0;
  for (const Tensors& tensors : shards) {
    for (const TensorInfo* tensor : tensors) total += tensor->bytes;
  }
  Json weight_map;
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    for (const TensorInfo* tensor : shards[i]) weight_map[tensor->name] = name;
    WriteShard(*model.tensors, shards[i], directory + "/" + name, [&](uint64_t bytes) {
      done += bytes;
      if (progress) progress(done, total);
    });
  }
  WriteOrThrow(directory + "/model.safetensors.index.json",
               Json{{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}}.dump());
  Json config = *ParseJson(*ReadSmallFile(shape, kMaxConfig), shape);
  config.erase(kSyntheticKey);
  config["quantization_config"] = {{"quant_method", "exl3"}, {"codebook", "mul1"}};
  WriteOrThrow(directory + "/config.json", config.dump(1) + "\n");  // last: without it there is no checkpoint
}

}  // namespace hearth
