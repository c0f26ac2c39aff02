#include "common/base/hash64.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hearth {
namespace {

TEST(Hash64, DependsOnEveryByteOnLengthAndOnSeed) {
  std::set<uint64_t> hashes;
  size_t count = 0;
  for (size_t length : {0, 1, 7, 8, 9, 31, 32, 33, 100}) {
    std::vector<uint8_t> data(length, 0);
    hashes.insert(Hash64(data.data(), length)), ++count;
    hashes.insert(Hash64(data.data(), length, 1)), ++count;
    for (size_t i = 0; i < length; ++i) {
      data[i] = 1;
      hashes.insert(Hash64(data.data(), length)), ++count;
      data[i] = 0;
    }
  }
  EXPECT_EQ(hashes.size(), count);
}

TEST(Hash64, DoesNotDependOnAlignment) {
  std::vector<uint8_t> data(128);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 37);
  const uint64_t expected = Hash64(data.data(), 77);
  for (size_t shift = 1; shift < 16; ++shift) {
    std::vector<uint8_t> moved(shift + 77);
    std::copy_n(data.begin(), 77, moved.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(Hash64(moved.data() + shift, 77), expected);
  }
}

}  // namespace
}  // namespace hearth
