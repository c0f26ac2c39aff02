#pragma once

#include <cstring>
#include <vector>

#include "common/base/float16.h"
#include "kernels/mla/mla.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {

// Sequences whose pages lie in mixed order in one pool, and rows that stand somewhere in them.
class PagedRows {
 public:
  PagedRows(Dim sequences, Dim tokens, Dim page_tokens, uint64_t seed)
      : page_tokens_(page_tokens), stride_((tokens + page_tokens - 1) / page_tokens), pages_(sequences * stride_) {
    for (size_t i = 0; i < pages_.size(); ++i) pages_[i] = static_cast<int32_t>(i);
    Numbers numbers(seed);
    for (size_t i = pages_.size(); i > 1; --i) std::swap(pages_[i - 1], pages_[numbers.Below(static_cast<int64_t>(i))]);
  }
  void Add(Dim sequence, Dim position) {
    sequence_.push_back(static_cast<int32_t>(sequence));
    position_.push_back(static_cast<int32_t>(position));
  }
  Dim rows() const { return static_cast<Dim>(position_.size()); }
  Dim position(Dim row) const { return position_[row]; }
  Dim sequence(Dim row) const { return sequence_[row]; }
  Dim page_count() const { return static_cast<Dim>(pages_.size()); }
  // Where position `position` lies, found without the code under test.
  Dim Slot(Dim sequence, Dim position) const {
    return pages_[sequence * stride_ + position / page_tokens_] * page_tokens_ + position % page_tokens_;
  }
  // From row `first` on.
  RowPages Where(Dim first = 0) const {
    return {sequence_.data() + first, position_.data() + first, pages_.data(), stride_, page_tokens_};
  }

 private:
  Dim page_tokens_, stride_;
  std::vector<int32_t> pages_, sequence_, position_;
};

// A pool of cached numbers of either type, every byte set to a NaN pattern before use.
class KvPool {
 public:
  KvPool(KvType type, Dim count) : type_(type), bytes_(static_cast<size_t>(count * KvElementBytes(type)), 0xFF) {}
  KvType type() const { return type_; }
  void* data() { return bytes_.data(); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  float At(Dim i) const {
    if (type_ == KvType::kF16) {
      uint16_t half;
      std::memcpy(&half, bytes_.data() + 2 * i, 2);
      return F16ToFloat(half);
    }
    float value;
    std::memcpy(&value, bytes_.data() + 4 * i, 4);
    return value;
  }
  void Set(Dim i, float value) {
    if (type_ == KvType::kF16) {
      const uint16_t half = FloatToF16(value);
      std::memcpy(bytes_.data() + 2 * i, &half, 2);
    } else {
      std::memcpy(bytes_.data() + 4 * i, &value, 4);
    }
  }

 private:
  KvType type_;
  std::vector<uint8_t> bytes_;
};

}  // namespace hearth::kernels
