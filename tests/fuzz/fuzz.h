#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

// What must hold for any input. Ends the process where it does not, so that the fuzzer keeps the input.
#define FUZZ_CHECK(condition)                                                             \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

namespace hearth::fuzz {

// Takes the first byte off as a choice among `ways`.
inline unsigned TakeChoice(std::string_view& input, unsigned ways) {
  if (input.empty()) return 0;
  const unsigned choice = static_cast<unsigned char>(input.front()) % ways;
  input.remove_prefix(1);
  return choice;
}

}  // namespace hearth::fuzz
