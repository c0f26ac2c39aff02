#include "gpu_worker/loader/fingerprint.h"

#include <cstdio>

#include "common/base/hash64.h"

namespace hearth {

void Fingerprint::Add(std::string_view piece) {
  low_ = Hash64(piece.data(), piece.size(), low_);
  high_ = Hash64(piece.data(), piece.size(), high_);
}

void Fingerprint::Add(uint64_t number) {
  char text[24];
  Add(std::string_view(
      text, static_cast<size_t>(std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(number)))));
}

std::string Fingerprint::Hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(low_),
                static_cast<unsigned long long>(high_));
  return text;
}

}  // namespace hearth
