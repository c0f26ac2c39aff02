#include "tools/home/home_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/ipc/shared_file.h"
#include "tests/support/tiny_home.h"
#include "tools/home/home_commands.h"

namespace hearth::home_tool {
namespace {

using ::testing::HasSubstr;

class HomeToolTest : public ::testing::Test {
 protected:
  HomeToolTest() {
    char name[] = "/tmp/hearth-test.XXXXXX";
    dir_ = ::mkdtemp(name);
    home_.WriteTo(Path());
    std::ofstream(Path() + ".lock") << "x";
    std::ofstream(dir_ + "/hearth-link-1-1") << "not a home";
  }
  ~HomeToolTest() override { std::filesystem::remove_all(dir_); }

  std::string Path() const { return dir_ + "/hearth-home-0011223344556677"; }
  void FlipByte(uint64_t offset) {
    std::fstream file(Path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
  SharedFile HoldLock() {
    auto lock = SharedFile::OpenExisting(Path() + ".lock", SharedFile::Access::kReadWrite);
    EXPECT_TRUE(lock.ok());
    EXPECT_TRUE(lock->TryLockFor(SharedFile::LockKind::kExclusive, Deadline::After(std::chrono::seconds(1))).ok());
    return *std::move(lock);
  }

  testing::TinyHome home_{{}};
  std::string dir_;
  std::ostringstream out_;
};

TEST_F(HomeToolTest, ListsHomesAndNothingElse) {
  const auto homes = ListHomes(dir_);
  ASSERT_EQ(homes.size(), 1u);
  EXPECT_EQ(homes[0].path, Path());
  EXPECT_EQ(homes[0].bytes, home_.bytes().size());
  EXPECT_EQ(homes[0].layers, 3u);
  EXPECT_EQ(homes[0].experts, 16u);
  EXPECT_EQ(homes[0].problem, "");
  EXPECT_FALSE(homes[0].in_use);
  const SharedFile lock = HoldLock();
  EXPECT_TRUE(ListHomes(dir_)[0].in_use);
  EXPECT_EQ(List(dir_, out_), 0);
  EXPECT_THAT(out_.str(), HasSubstr("3 layers x 16 experts  in use"));
}

TEST_F(HomeToolTest, FindsWhatServeScriptsLeft) {
  const std::string folder = dir_ + "/hearth-serve.Ab12Cd", home = folder + "/hearth-home-0011223344556677";
  std::filesystem::create_directory(folder);
  std::filesystem::rename(Path(), home);
  std::filesystem::create_directory(dir_ + "/others");
  home_.WriteTo(dir_ + "/others/hearth-home-0011223344556677");
  ASSERT_EQ(ListHomes(dir_).size(), 1u);
  EXPECT_EQ(ListHomes(dir_)[0].path, home);
  EXPECT_EQ(Drop(dir_, {}, false, out_), 0);
  EXPECT_FALSE(std::filesystem::exists(home));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/others/hearth-home-0011223344556677"));
}

TEST_F(HomeToolTest, SaysWhyAFileIsNoUsableHome) {
  std::filesystem::resize_file(Path(), 100);
  EXPECT_NE(ListHomes(dir_)[0].problem, "");
  EXPECT_EQ(Verify(dir_, {}, out_), 1);
}

TEST_F(HomeToolTest, VerifyFindsADamagedRecord) {
  EXPECT_EQ(Verify(dir_, {}, out_), 0);
  EXPECT_THAT(out_.str(), HasSubstr("48 records, all checksums right"));
  const HomeView view = home_.view();
  FlipByte(static_cast<uint64_t>(view.record(1, 5) - home_.bytes().data()) + view.entry(1, 5).up.data_offset);
  const auto verified = VerifyHome(Path());
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified->damaged, std::vector<std::string>{"expert 5 of layer 1"});
  EXPECT_EQ(Verify(dir_, {"0011"}, out_), 1);
  EXPECT_THAT(out_.str(), HasSubstr("DAMAGED: expert 5 of layer 1"));
}

TEST_F(HomeToolTest, DropsAHomeWithItsLock) {
  EXPECT_EQ(Drop(dir_, {"0011"}, false, out_), 0);
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_FALSE(std::filesystem::exists(Path() + ".lock"));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/hearth-link-1-1"));
  EXPECT_EQ(Drop(dir_, {"0011"}, false, out_), 2) << "it is gone";
}

TEST_F(HomeToolTest, APathIsFoundWhateverTheFolder) {
  const std::string relative = std::filesystem::relative(Path());
  ASSERT_TRUE(relative.starts_with("../")) << relative;
  for (const std::string& path : {Path(), relative, dir_ + "/./" + std::filesystem::path(Path()).filename().string()}) {
    for (const std::string& dir : {dir_, std::string("/nowhere")}) EXPECT_EQ(Verify(dir, {path}, out_), 0) << path;
  }
  {
    const SharedFile lock = HoldLock();
    EXPECT_EQ(Drop("/nowhere", {relative}, false, out_), 1) << "it is in use";
  }
  EXPECT_EQ(Drop("/nowhere", {relative}, false, out_), 0);
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_FALSE(std::filesystem::exists(Path() + ".lock"));
  EXPECT_EQ(Drop(dir_, {Path()}, false, out_), 2) << "it is gone";
}

TEST_F(HomeToolTest, AHomeNamedInSeveralWaysIsDroppedOnce) {
  const std::string relative = std::filesystem::relative(Path());
  EXPECT_EQ(Drop(dir_, {"0011", "0011", Path(), relative}, false, out_), 0) << out_.str();
  const std::string said = out_.str();
  EXPECT_EQ(said.find("dropped"), said.rfind("dropped")) << said;
}

TEST_F(HomeToolTest, APathOfAnotherFileIsNoHome) {
  for (const std::string& path : {dir_ + "/hearth-link-1-1", Path() + ".lock", dir_ + "/"}) {
    EXPECT_EQ(Drop(dir_, {path}, true, out_), 2) << path;
  }
  EXPECT_THAT(out_.str(), HasSubstr("/hearth-link-1-1: no such home\n"));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/hearth-link-1-1"));
  EXPECT_TRUE(std::filesystem::exists(Path() + ".lock"));
}

TEST_F(HomeToolTest, DoesNotDropWhatIsInUseUnlessForced) {
  const SharedFile lock = HoldLock();
  EXPECT_EQ(Drop(dir_, {}, false, out_), 1);
  EXPECT_THAT(out_.str(), HasSubstr("a worker uses it"));
  EXPECT_TRUE(std::filesystem::exists(Path()));
  EXPECT_EQ(Drop(dir_, {}, true, out_), 0);
  EXPECT_FALSE(std::filesystem::exists(Path()));
  EXPECT_TRUE(std::filesystem::exists(Path() + ".lock")) << "the worker still holds it";
}

}  // namespace
}  // namespace hearth::home_tool
