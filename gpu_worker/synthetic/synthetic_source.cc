#include "gpu_worker/synthetic/synthetic_source.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/parallel/parallel_for.h"
#include "gpu_worker/loader/fingerprint.h"

namespace hearth {
namespace {

// Part of every fingerprint: changed when the same settings give other numbers.
constexpr char kGenerator[] = "hearth synthetic weights, version 2";
constexpr uint64_t kElementsPerTask = 1 << 16;

}  // namespace

SyntheticSource::SyntheticSource(const ModelConfig& config, const SyntheticSettings& settings, std::string place,
                                 const std::string& config_text)
    : place_(std::move(place)) {
  for (SyntheticTensor& tensor : ListSyntheticTensors(config, settings)) {
    std::string name = tensor.info.name;
    tensors_.emplace(std::move(name), std::move(tensor));
  }
  hearth::Fingerprint fingerprint;
  fingerprint.Add(kGenerator);
  fingerprint.Add(config_text);
  fingerprint_ = fingerprint.Hex();
}

std::vector<std::string> SyntheticSource::Names() const {
  std::vector<std::string> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const TensorInfo* SyntheticSource::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.info;
}

const SyntheticTensor& SyntheticSource::Of(const TensorInfo& tensor) const {
  const auto found = tensors_.find(tensor.name);
  HEARTH_CHECK(found != tensors_.end(), tensor.name);
  return found->second;
}

void SyntheticSource::Read(const TensorInfo& info, uint64_t begin, uint64_t bytes, void* dst) const {
  const SyntheticTensor& tensor = Of(info);
  HEARTH_CHECK(begin <= info.bytes && bytes <= info.bytes - begin, StrCat(info.name, ": a part outside the tensor"));
  if (tensor.law.kind == ValueLaw::Kind::kWord) {
    std::memcpy(dst, reinterpret_cast<const std::byte*>(&tensor.law.word) + begin, bytes);
    return;
  }
  if (tensor.law.kind == ValueLaw::Kind::kVector) {
    std::memcpy(dst, reinterpret_cast<const std::byte*>(tensor.values.data()) + begin, bytes);
    return;
  }
  const auto size = static_cast<uint64_t>(DTypeBytes(info.dtype));
  HEARTH_CHECK(begin % size == 0 && bytes % size == 0, StrCat(info.name, ": a part that cuts an element"));
  const uint64_t first = begin / size, count = bytes / size;
  const auto fill = [&](uint64_t from, uint64_t to) {
    FillRandom(tensor.seed, tensor.law, info.dtype, first + from, first + to,
               static_cast<std::byte*>(dst) + from * size);
  };
  if (count <= kElementsPerTask) return fill(0, count);
  const uint64_t tasks = (count + kElementsPerTask - 1) / kElementsPerTask;
  ParallelFor(static_cast<int64_t>(tasks), [&](int64_t task) {
    const uint64_t from = static_cast<uint64_t>(task) * kElementsPerTask;
    fill(from, std::min(count, from + kElementsPerTask));
  });
}

bool SyntheticSource::WriteStrips(const TensorInfo& trellis, kernels::Dim begin, kernels::Dim end,
                                  std::byte* strips) const {
  const SyntheticTensor& tensor = Of(trellis);
  FillRandomStrips(tensor.seed, trellis.shape[0] * kTile, trellis.shape[1] * kTile,
                   static_cast<uint32_t>(trellis.shape[2] / 16), begin, end, strips);
  return true;
}

}  // namespace hearth
