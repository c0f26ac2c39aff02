#include "common/ipc/shared_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hearth {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SharedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // tmpfs where there is one; the promises are the same elsewhere.
    const std::string folder = std::filesystem::exists("/dev/shm") ? "/dev/shm/" : ::testing::TempDir();
    path_ = folder + "hearth-shared-file-test-" + std::to_string(::getpid());
    ::unlink(path_.c_str());
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  Result<SharedFile> Create(uint64_t bytes, SharedFile::CreateOptions options = {}) {
    return SharedFile::Create(path_, bytes, options);
  }
  std::string path_;
};

TEST_F(SharedFileTest, ShowsWritesToOtherOpeners) {
  Result<SharedFile> writer = Create(10'000);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  EXPECT_TRUE(writer->created());
  Result<SharedFile> reader = SharedFile::OpenExisting(path_, SharedFile::Access::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  EXPECT_EQ(reader->size(), 10'000u);
  EXPECT_EQ(std::as_const(*reader).bytes()[9'999], std::byte{0});
  writer->bytes()[9'999] = std::byte{7};
  EXPECT_EQ(std::as_const(*reader).bytes()[9'999], std::byte{7});
  EXPECT_DEATH(static_cast<void>(reader->bytes()), "reading only");
}

TEST_F(SharedFileTest, GivesTheModeWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const Result<SharedFile> file = Create(1, {.mode = 0660});
  ::umask(before);
  ASSERT_TRUE(file.ok());
  struct stat info = {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0660u);
}

TEST_F(SharedFileTest, RefusesOrReusesWhatExists) {
  {
    Result<SharedFile> first = Create(4096);
    ASSERT_TRUE(first.ok());
    first->bytes()[0] = std::byte{42};
  }
  EXPECT_EQ(Create(4096).status().code(), StatusCode::kFailedPrecondition);
  const Result<SharedFile> again = Create(4096, {.existing = SharedFile::Existing::kReuse});
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created());
  EXPECT_EQ(again->bytes()[0], std::byte{42});
  const Result<SharedFile> other = Create(8192, {.existing = SharedFile::Existing::kReuse});
  EXPECT_THAT(other.status().message(), AllOf(HasSubstr(path_), HasSubstr("4096"), HasSubstr("8192")));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SharedFileTest, RefusesWhatIsNoPlainFile) {
  EXPECT_EQ(SharedFile::OpenExisting(path_, SharedFile::Access::kReadOnly).status().code(), StatusCode::kNotFound);
  std::ofstream(path_).flush();
  EXPECT_THAT(SharedFile::OpenExisting(path_, SharedFile::Access::kReadOnly).status().message(), HasSubstr("empty"));
  EXPECT_FALSE(SharedFile::OpenExisting("/", SharedFile::Access::kReadOnly).ok());
  ::unlink(path_.c_str());
  ASSERT_EQ(::symlink("/etc/hostname", path_.c_str()), 0);
  EXPECT_FALSE(SharedFile::OpenExisting(path_, SharedFile::Access::kReadOnly).ok());
  EXPECT_FALSE(Create(1, {.existing = SharedFile::Existing::kReuse}).ok());
  EXPECT_EQ(Create(0).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(SharedFileTest, ReservesSpaceOrSaysWhatIsMissing) {
  const uint64_t huge = uint64_t{1} << 46;
  Result<SharedFile> file = Create(huge);
  if (!file.ok()) GTEST_SKIP() << "no sparse file of 64 TiB here: " << file.status().ToString();
  ASSERT_TRUE(file->Reserve(4096, 100'000).ok());
  struct stat info = {};
  ASSERT_EQ(::fstat(file->fd(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 100'000);
  const Status status = file->Reserve(0, huge);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr("need"), HasSubstr("have")));
  ASSERT_EQ(::fstat(file->fd(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 1'000'000) << "a reservation that cannot succeed takes nothing";
}

TEST_F(SharedFileTest, LocksAgainstOtherOpeners) {
  Result<SharedFile> first = Create(1);
  Result<SharedFile> second = SharedFile::OpenExisting(path_, SharedFile::Access::kReadOnly);
  ASSERT_TRUE(first.ok() && second.ok());
  using Kind = SharedFile::LockKind;
  const Deadline now = Deadline::After(0s);
  EXPECT_TRUE(first->TryLockFor(Kind::kExclusive, now).ok());
  EXPECT_EQ(second->TryLockFor(Kind::kShared, Deadline::After(5ms)).code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(first->TryLockFor(Kind::kShared, now).ok());
  EXPECT_TRUE(second->TryLockFor(Kind::kShared, now).ok());
  EXPECT_FALSE(second->TryLockFor(Kind::kExclusive, now).ok());
  EXPECT_TRUE(second->TryLockFor(Kind::kShared, now).ok());
  first->Unlock();
  EXPECT_TRUE(second->TryLockFor(Kind::kExclusive, now).ok());
}

TEST_F(SharedFileTest, FreesTheLockWhenItsProcessDies) {
  Result<SharedFile> file = Create(1);
  ASSERT_TRUE(file.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    Result<SharedFile> mine = SharedFile::OpenExisting(path_, SharedFile::Access::kReadWrite);
    const bool locked = mine.ok() && mine->TryLockFor(SharedFile::LockKind::kExclusive, Deadline::After(0s)).ok();
    ::kill(::getpid(), locked ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(file->TryLockFor(SharedFile::LockKind::kExclusive, Deadline::After(1min)).ok());
}

TEST_F(SharedFileTest, KnowsWhetherItsNameIsStillItsOwn) {
  Result<SharedFile> file = Create(1);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->IsLinked());
  ::unlink(path_.c_str());
  EXPECT_FALSE(file->IsLinked());
  Result<SharedFile> other = Create(1);
  ASSERT_TRUE(other.ok());
  file->Remove();  // the name belongs to the other file now
  EXPECT_TRUE(other->IsLinked());
  other->Remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SharedFileTest, MovesItsMapping) {
  Result<SharedFile> made = Create(4096, {.huge_pages = true});
  ASSERT_TRUE(made.ok());
  SharedFile file = *std::move(made);
  file.bytes()[1] = std::byte{9};
  SharedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes()[1], std::byte{9});
  EXPECT_EQ(file.size(), 0u);  // NOLINT: a moved-from file is empty
}

}  // namespace
}  // namespace hearth
