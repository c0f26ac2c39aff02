#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "kernels/backend.h"

namespace hearth::kernels {

// An array in a backend's memory that only grows. Contents are lost when it grows. Throws std::bad_alloc without room.
// It may also stand in memory that somebody else owns, until it is released or used elsewhere.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const Backend& backend) : backend_(&backend) {}
  ~DeviceArray() { Release(); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  int64_t size() const { return size_; }

  void Grow(int64_t count) {
    if (count <= size_) return;
    Release();
    data_ = static_cast<T*>(backend_->memory->allocate(static_cast<size_t>(count) * sizeof(T)));
    if (data_ == nullptr) throw std::bad_alloc();
    size_ = count;
  }
  void Use(T* memory, int64_t count) {
    Release();
    data_ = memory;
    size_ = count;
    borrowed_ = true;
  }
  void Release() {
    if (!borrowed_) backend_->memory->release(data_);
    data_ = nullptr;
    size_ = 0;
    borrowed_ = false;
  }
  // Grows where needed and copies `values` to the front.
  void Assign(std::span<const T> values) {
    Grow(static_cast<int64_t>(values.size()));
    backend_->memory->upload(backend_->stream, data_, values.data(), values.size_bytes());
  }

 private:
  const Backend* backend_;
  T* data_ = nullptr;
  int64_t size_ = 0;
  bool borrowed_ = false;
};

// Host memory that transfers reach at full speed; grows like DeviceArray.
template <typename T>
class HostArray {
 public:
  explicit HostArray(const Backend& backend) : backend_(backend) {}
  ~HostArray() { backend_.memory->release_host(data_); }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  T* data() const { return data_; }
  void Grow(int64_t count) {
    if (count <= size_) return;
    backend_.memory->release_host(data_);
    size_ = 0;
    data_ = static_cast<T*>(backend_.memory->allocate_host(static_cast<size_t>(count) * sizeof(T)));
    if (data_ == nullptr) throw std::bad_alloc();
    size_ = count;
  }

 private:
  const Backend& backend_;
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace hearth::kernels
