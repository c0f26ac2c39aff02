#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda_backend.h"
#include "kernels/device_array.h"

namespace hearth::kernels::testing {

// Test data on the GPU. Whatever a test hands to an op lives as long as this object.
class DeviceCopy {
 public:
  template <typename T>
  T* Put(const std::vector<T>& values) {
    return static_cast<T*>(PutBytes(values.data(), values.size() * sizeof(T)));
  }
  MatrixView Put(const MatrixView& host) {
    MatrixView view = host;
    view.data = PutBytes(host.data, static_cast<size_t>(host.bytes()));
    if (host.suh != nullptr) view.suh = static_cast<uint16_t*>(PutBytes(host.suh, host.in_padded * 2));
    if (host.svh != nullptr) view.svh = static_cast<uint16_t*>(PutBytes(host.svh, host.out_padded * 2));
    if (host.bias != nullptr) view.bias = static_cast<float*>(PutBytes(host.bias, host.out_features * 4));
    return view;
  }
  MlpView Put(const MlpView& host) { return {Put(host.gate), Put(host.up), Put(host.down), host.limit}; }
  RowPages Put(const RowPages& host, int64_t rows, int64_t sequences) {
    RowPages where = host;
    where.row_sequence = static_cast<int32_t*>(PutBytes(host.row_sequence, rows * 4));
    where.row_position = static_cast<int32_t*>(PutBytes(host.row_position, rows * 4));
    where.pages = static_cast<int32_t*>(PutBytes(host.pages, sequences * host.page_stride * 4));
    return where;
  }
  // An output whose every element is NaN (or 0xFFFFFFFF) until an op writes it.
  template <typename T>
  T* Poisoned(int64_t count) {
    return Put(std::vector<T>(count, Poison<T>()));
  }
  template <typename T>
  std::vector<T> Get(const T* device, int64_t count) const {
    std::vector<T> values(count);
    backend().memory->download(backend().stream, values.data(), device, values.size() * sizeof(T));
    backend().memory->synchronize(backend().stream);
    return values;
  }

  static const Backend& backend() { return CudaBackend(); }

 private:
  template <typename T>
  static T Poison() {
    T value;
    std::fill_n(reinterpret_cast<unsigned char*>(&value), sizeof(T), 0xFF);
    return value;
  }
  void* PutBytes(const void* from, size_t bytes) {
    auto array = std::make_unique<DeviceArray<unsigned char>>(backend());
    array->Assign({static_cast<const unsigned char*>(from), bytes});
    backend().memory->synchronize(backend().stream);
    arrays_.push_back(std::move(array));
    return arrays_.back()->data();
  }
  std::vector<std::unique_ptr<DeviceArray<unsigned char>>> arrays_;
};

// || a - b || / || b ||, infinite when anything is not finite.
inline double RelativeError(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(a[i])) return INFINITY;
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / std::max(norm, 1e-300));
}

}  // namespace hearth::kernels::testing
