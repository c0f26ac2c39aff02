#pragma once

#include <vector>

namespace hearth::kernels::cuda {

// One T for each stream that asked. Streams are few and live as long as the process.
template <typename T>
class PerStream {
 public:
  T& of(void* stream) {
    for (Entry& entry : entries_) {
      if (entry.stream == stream) return entry.value;
    }
    entries_.push_back({stream, T{}});
    return entries_.back().value;
  }
  template <typename F>
  void ForEach(F f) const {
    for (const Entry& entry : entries_) f(entry.value);
  }

 private:
  struct Entry {
    void* stream;
    T value;
  };
  std::vector<Entry> entries_;
};

}  // namespace hearth::kernels::cuda
