#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"
#include "gpu_worker/loader/tensor_source.h"

namespace hearth {

// One *.safetensors file, which may be broken or hostile: nothing in it is believed before it is checked. Layout:
// u64 length of the JSON header, the header, then data at any alignment; data_offsets count from the header's end.
class SafetensorsFile {
 public:
  // Reads and checks the header: length against the file, size and depth of the JSON, dtypes, shapes, that every
  // extent has the size of its shape and lies in the file, that no two tensors overlap or share a name. Throws
  // StartupError naming file, tensor and reason.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }
  // Differs after whatever may have changed the file's contents, and after some things that do not: whoever writes the
  // file cannot keep its change time as it was.
  uint64_t stamp() const { return stamp_; }
  const std::string& header() const { return header_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  std::vector<TensorInfo>& tensors() { return tensors_; }
  void DropHeader() { std::string().swap(header_); }

  // Thread-safe. `begin` counts from the tensor's first byte.
  void Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const;

 private:
  void ReadAt(uint64_t offset, uint64_t bytes, void* dst, const std::string& what) const;

  std::string path_;
  UniqueFd fd_;
  uint64_t bytes_ = 0;
  uint64_t stamp_ = 0;
  std::string header_;
  std::vector<TensorInfo> tensors_;
};

// The header of a file of `file_bytes` bytes, checked as above; `data_begin` is where data starts. Pure, for tests.
std::vector<TensorInfo> ParseSafetensorsHeader(const std::string& header, uint64_t data_begin, uint64_t file_bytes,
                                               const std::string& path);

}  // namespace hearth
