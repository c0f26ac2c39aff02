#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/startup_error.h"
#include "common/base/status.h"
#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth {

enum class DType { kF64, kF32, kF16, kBf16, kF8E4M3, kF8E5M2, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

const char* DTypeName(DType dtype);                        // as safetensors spells it
std::optional<DType> ParseDType(const std::string& name);  // nothing for unknown names
int DTypeBytes(DType dtype);
std::string ShowShape(const std::vector<int64_t>& shape);  // "[24, 1024]"

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // checked: no negative size, product and bytes fit 63 bits
  uint64_t bytes = 0;
  uint32_t file = 0;  // file and offset mean something to the source only
  uint64_t offset = 0;
};

// Named tensors of a model, wherever they come from: a checkpoint directory, or a generator in tests.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  virtual std::vector<std::string> Names() const = 0;
  // Null when there is no such tensor. The pointer lives as long as the source.
  virtual const TensorInfo* Find(const std::string& name) const = 0;
  // Copies bytes [begin, begin + bytes) of a tensor. Thread-safe; throws StartupError naming file, tensor and reason.
  virtual void Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const = 0;
  void Read(const TensorInfo& tensor, void* dst) const { Read(tensor, 0, tensor.bytes, dst); }

  // Writes strips [begin, end) of an EXL3 matrix in the layout of common/matrix/matrix_view.h, when the source can make
  // them without the file's order in between; false when it cannot. `strips` is the first strip of the matrix.
  // Thread-safe.
  virtual bool WriteStrips(const TensorInfo& /*trellis*/, kernels::Dim /*begin*/, kernels::Dim /*end*/,
                           std::byte* /*strips*/) const {
    return false;
  }

  // What a message calls the source of a tensor: the file's path.
  virtual std::string Place(const TensorInfo& tensor) const = 0;
  // What a message calls the place where a missing tensor should have been.
  virtual std::string Place() const = 0;

  // The codebook that the converter's own list claims for a module: a cross-check for lost markers.
  virtual std::optional<Codebook> DeclaredCodebook(const std::string& /*module*/) const { return {}; }
  // 32 hexadecimal digits over what describes the tensors: configuration, names, types, shapes and places. Equal for
  // copies of one model, wherever and whenever they were made; contents do not count.
  virtual std::string Fingerprint() const = 0;
  // Differs when the contents of the tensor may have changed since a source of the same fingerprint gave another value.
  // Contents that only depend on the fingerprint need none.
  virtual uint64_t ContentStamp(const TensorInfo& /*tensor*/) const { return 0; }
};

// What would help where a checkpoint is incomplete or damaged.
inline constexpr char kFetchAgain[] = "; fetch the checkpoint again, or choose another with -m";

// "PATH: tensor NAME: reason; what would help"
template <typename... Parts>
[[noreturn]] void RefuseTensor(const TensorSource& source, const TensorInfo& tensor, const Parts&... parts) {
  throw StartupError(StrCat(source.Place(tensor), ": tensor ", tensor.name, ": ", parts..., kFetchAgain));
}

}  // namespace hearth
