#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

// Collects pieces of data into 128 bits, printed as 32 hexadecimal digits. Order and borders of the pieces count.
class Fingerprint {
 public:
  void Add(std::string_view piece);
  void Add(uint64_t number);
  std::string Hex() const;

 private:
  uint64_t low_ = 0x68656172746830ull;
  uint64_t high_ = 0x68656172746831ull;
};

}  // namespace hearth
