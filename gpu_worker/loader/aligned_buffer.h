#pragma once

#include <cstddef>
#include <new>

namespace hearth {

// Uninitialised bytes, 64-byte aligned.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t bytes)
      : data_(static_cast<std::byte*>(::operator new (bytes > 0 ? bytes : 1, std::align_val_t{64}))) {}
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{64}); }

  std::byte* data() { return data_; }

 private:
  std::byte* data_;
};

}  // namespace hearth
