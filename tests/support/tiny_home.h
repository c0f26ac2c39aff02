#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/expert_home/home_view.h"

namespace hearth::testing {

struct TinyHomeSpec {
  uint32_t layers = 3, experts = 16;
  uint32_t hidden = 256, width = 128;
  uint32_t bits = 3;
  float limit = 10;
  std::string fingerprint = "00112233445566778899aabbccddeeff";
  uint64_t seed = 1;
};

// A complete expert home of random EXL3 experts (any bits are valid codes), in memory or as a file.
class TinyHome {
 public:
  explicit TinyHome(const TinyHomeSpec& spec);
  TinyHome(const TinyHome&) = delete;
  TinyHome& operator=(const TinyHome&) = delete;

  std::span<const std::byte> bytes() const { return {base_, size_}; }
  HomeView view() const;
  void WriteTo(const std::string& path) const;

 private:
  std::vector<std::byte> memory_;
  std::byte* base_ = nullptr;  // page-aligned, within memory_
  size_t size_ = 0;
};

}  // namespace hearth::testing
