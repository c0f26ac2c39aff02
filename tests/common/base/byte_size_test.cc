#include "common/base/byte_size.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(ByteSize, PrintsTheLargestUnitThatKeepsTheNumberAtOneOrMore) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(3 * kGiB / 2), "1.5 GiB");
  EXPECT_EQ(FormatBytes(kMiB - 1), "1 MiB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16777216 TiB");
}

TEST(ByteSize, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseBytes("1.5 GiB"), 3 * kGiB / 2);
  EXPECT_EQ(ParseBytes("64KiB"), 64 * kKiB);
  EXPECT_EQ(ParseBytes("2g"), 2 * kGiB);
  EXPECT_EQ(ParseBytes("3 GB"), 3'000'000'000u);
  EXPECT_EQ(ParseBytes("1000"), 1000u);
  EXPECT_EQ(ParseBytes("7 b"), 7u);
  EXPECT_EQ(ParseBytes("1tib"), kGiB * 1024);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GiB", "-1", "1 XiB", "1 Gi", "1.2.3", "nan", "1e400", "99999999 TiB", "1 GiB x"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(ByteSize, TurnsNumbersOfGibIntoBytes) {
  EXPECT_EQ(GibToBytes(0.5), kGiB / 2);
  EXPECT_EQ(GibToBytes(-1), 0u);
  EXPECT_EQ(GibToBytes(1e30), UINT64_MAX);
}

}  // namespace
}  // namespace hearth
