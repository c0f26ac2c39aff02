#include "common/text/byte_alphabet.h"

#include <array>
#include <cstdint>

namespace hearth::text {
namespace {

constexpr int kSymbols = 256 + 68;  // 188 bytes stand for themselves, the other 68 for U+0100 and up

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<int16_t, kSymbols> MakeTable() {
  std::array<int16_t, kSymbols> table{};
  for (auto& entry : table) entry = -1;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) table[StandsForItself(byte) ? byte : next++] = static_cast<int16_t>(byte);
  return table;
}

constexpr auto kByteOfSymbol = MakeTable();

}  // namespace

std::optional<std::string> BytesFromSymbols(std::string_view symbols) {
  std::string bytes;
  bytes.reserve(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    // The alphabet ends before U+0800, so a symbol has one byte or two.
    uint32_t symbol = static_cast<unsigned char>(symbols[i]);
    if (symbol >= 0x80) {
      if (symbol >= 0xE0 || i + 1 == symbols.size()) return std::nullopt;
      symbol = (symbol & 0x1F) << 6 | (static_cast<unsigned char>(symbols[++i]) & 0x3F);
    }
    if (symbol >= kSymbols || kByteOfSymbol[symbol] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kByteOfSymbol[symbol]));
  }
  return bytes;
}

}  // namespace hearth::text
