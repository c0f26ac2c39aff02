#include "common/config/load_config.h"

#include <cstdio>
#include <cstdlib>

namespace hearth {

void PrintAndExit(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  std::exit(0);
}

}  // namespace hearth
