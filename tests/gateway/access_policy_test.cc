#include "gateway/http/access_policy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/startup_error.h"

namespace hearth::http {
namespace {

TEST(ApiKeyFile, HasOneKeyALineAndComments) {
  const std::string path = ::testing::TempDir() + "hearth-test-keys";
  std::ofstream(path) << "# team A\n\n first \r\n\t# nobody\nsecond key\nthird";
  EXPECT_EQ(ReadApiKeyFile(path), (std::vector<std::string>{"first", "second key", "third"}));
  std::ofstream(path) << " \n#\n";
  EXPECT_THROW(ReadApiKeyFile(path), StartupError);
  std::remove(path.c_str());
  EXPECT_THROW(ReadApiKeyFile(path), StartupError);
}

TEST(AccessPolicy, ComparesKeysWhole) {
  EXPECT_TRUE(EqualsConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualsConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualsConstantTime("abc", "ab"));
  EXPECT_FALSE(EqualsConstantTime("abc", "abcabc"));
  EXPECT_FALSE(EqualsConstantTime("abc", ""));
  EXPECT_TRUE(EqualsConstantTime("", ""));
}

}  // namespace
}  // namespace hearth::http
