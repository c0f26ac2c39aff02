#include "gpu_worker/loader/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/byte_size.h"
#include "common/base/hash64.h"
#include "gpu_worker/loader/json_text.h"
#include "gpu_worker/loader/small_file.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kMaxRank = 8;

[[noreturn]] void Refuse(const std::string& path, const std::string& reason) {
  throw StartupError(path + ": " + reason + kFetchAgain);
}

// One entry of the header. Returns what is wrong with it, "" when nothing is.
std::string ReadEntry(const Json& entry, uint64_t data_bytes, TensorInfo* tensor) {
  if (!entry.is_object()) return "the header entry is no object";
  const auto dtype = entry.find("dtype"), shape = entry.find("shape"), offsets = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string()) return "the header entry has no dtype";
  const auto known = ParseDType(dtype->get_ref<const std::string&>());
  if (!known) return "dtype " + ShowJson(*dtype) + " is unknown";
  tensor->dtype = *known;
  if (shape == entry.end() || !shape->is_array() || shape->size() > kMaxRank) return "the header entry has no shape";
  uint64_t bytes = static_cast<uint64_t>(DTypeBytes(*known));
  for (const Json& size : *shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > (uint64_t{1} << 48)) {
      return "shape is " + ShowJson(*shape) + ", expected sizes of 0 to 2^48";
    }
    tensor->shape.push_back(static_cast<int64_t>(size.get<uint64_t>()));
    if (__builtin_mul_overflow(bytes, size.get<uint64_t>(), &bytes) || bytes > (uint64_t{1} << 62)) {
      return "shape " + ShowJson(*shape) + " overflows";
    }
  }
  tensor->bytes = bytes;
  if (offsets == entry.end()) return "the header entry has no data_offsets";
  if (!offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned()) {
    return "data_offsets are " + ShowJson(*offsets) + ", expected two whole numbers from 0";
  }
  const uint64_t begin = (*offsets)[0].get<uint64_t>(), end = (*offsets)[1].get<uint64_t>();
  if (begin > end || end - begin != bytes) {
    return StrCat("data_offsets are ", ShowJson(*offsets), ", but ", DTypeName(*known), " ", ShowShape(tensor->shape),
                  " takes ", bytes, " bytes");
  }
  if (end > data_bytes) {
    return StrCat("ends at byte ", end, " of the data, but the file has only ", data_bytes, ": it is truncated");
  }
  tensor->offset = begin;
  return "";
}

}  // namespace

std::vector<TensorInfo> ParseSafetensorsHeader(const std::string& header, uint64_t data_begin, uint64_t file_bytes,
                                               const std::string& path) {
  Result<Json> parsed = ParseJson(header, path + ": header");
  if (!parsed.ok()) throw StartupError(parsed.status().message() + kFetchAgain);
  if (!parsed->is_object()) Refuse(path, "header: is no JSON object");
  std::vector<TensorInfo> tensors;
  for (const auto& [name, entry] : parsed->items()) {
    if (name == "__metadata__") continue;
    if (name.size() > 512 || std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; })) {
      Refuse(path, "header: the tensor name " + ShowJson(name) + " is too long or has control characters");
    }
    TensorInfo tensor;
    tensor.name = name;
    const std::string wrong = ReadEntry(entry, file_bytes - data_begin, &tensor);
    if (!wrong.empty()) Refuse(path, "tensor " + name + ": " + wrong);
    tensor.offset += data_begin;
    tensors.push_back(std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i - 1].offset + tensors[i - 1].bytes > tensors[i].offset) {
      Refuse(path, "tensor " + tensors[i].name + ": overlaps " + tensors[i - 1].name);
    }
  }
  return tensors;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, a named pipe in the directory would block the open.
  fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd_.valid()) throw StartupError(path + ": " + WhyNotOpened(errno));
  struct stat stat {};
  if (::fstat(fd_.get(), &stat) != 0 || !S_ISREG(stat.st_mode)) Refuse(path, "is no regular file");
  bytes_ = static_cast<uint64_t>(stat.st_size);
  const int64_t times[] = {stat.st_ctim.tv_sec, stat.st_ctim.tv_nsec, stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec};
  stamp_ = Hash64(times, sizeof times);
  if (bytes_ < 8) Refuse(path, StrCat("has ", bytes_, " bytes, too few for a safetensors file"));
  unsigned char raw[8];
  ReadAt(0, 8, raw, "header length");
  if (std::memcmp(raw, "version ", 8) == 0) {
    Refuse(path, "is a Git LFS pointer, not the tensors that it stands for; \"git lfs pull\" fetches them");
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | raw[i];
  if (length > kMaxHeader) Refuse(path, StrCat("header of ", length, " bytes, at most ", kMaxHeader, " are accepted"));
  if (length > bytes_ - 8) Refuse(path, StrCat("header of ", length, " bytes in a file of ", bytes_, ": truncated"));
  header_.resize(length);
  ReadAt(8, length, header_.data(), "header");
  tensors_ = ParseSafetensorsHeader(header_, 8 + length, bytes_, path);
}

void SafetensorsFile::Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const {
  HEARTH_CHECK(begin <= tensor.bytes && bytes <= tensor.bytes - begin, tensor.name);
  ReadAt(tensor.offset + begin, bytes, dst, "tensor " + tensor.name);
}

void SafetensorsFile::ReadAt(uint64_t offset, uint64_t bytes, void* dst, const std::string& what) const {
  auto* out = static_cast<char*>(dst);
  while (bytes > 0) {
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(bytes, kGiB));
    const ssize_t got = ::pread(fd_.get(), out, piece, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Refuse(path_, what + ": read failed: " + std::strerror(errno));
    if (got == 0) Refuse(path_, StrCat(what, ": the file ends at byte ", offset, ", ", bytes, " bytes short"));
    out += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
}

}  // namespace hearth
