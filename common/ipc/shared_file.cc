#include "common/ipc/shared_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/byte_size.h"

namespace hearth {
namespace {

constexpr uint64_t kReserveStep = 256 * kMiB;  // bounds the time of one call, which signals start over
constexpr std::chrono::milliseconds kLockPoll{10};

Status OpenError(const std::string& path, int error) {
  if (error == ENOENT) return NotFound(path, ": no such file");
  if (error == ENOSPC) return ResourceExhausted(path, ": no space left on its file system");
  return FailedPrecondition(path, ": cannot open: ", std::strerror(error));
}

// Size of a regular file.
Result<uint64_t> RegularSize(const std::string& path, int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return FailedPrecondition(path, ": ", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return FailedPrecondition(path, ": not a regular file");
  return static_cast<uint64_t>(info.st_size);
}

uint64_t FreeBytes(int fd) {
  struct statvfs info = {};
  return ::fstatvfs(fd, &info) == 0 ? static_cast<uint64_t>(info.f_bavail) * info.f_frsize : 0;
}

uint64_t AllocatedBytes(int fd) {
  struct stat info = {};
  return ::fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
}

}  // namespace

SharedFile::SharedFile(std::string path, UniqueFd fd, Access access)
    : path_(std::move(path)), fd_(std::move(fd)), access_(access) {}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      access_(other.access_),
      created_(other.created_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  if (this != &other) {
    Unmap();
    path_ = std::move(other.path_);
    fd_ = std::move(other.fd_);
    access_ = other.access_;
    created_ = other.created_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

SharedFile::~SharedFile() { Unmap(); }

void SharedFile::Unmap() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

Result<SharedFile> SharedFile::Create(const std::string& path, uint64_t bytes, const CreateOptions& options) {
  if (bytes == 0) return FailedPrecondition(path, ": a shared file needs at least one byte");
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, options.mode));
  const bool created = fd.valid();
  if (!created && errno == EEXIST) {
    if (options.existing == Existing::kRefuse) {
      return FailedPrecondition(path,
                                ": exists already; another process uses it, or it is left over and can be removed");
    }
    fd = UniqueFd(::open(path.c_str(), kFlags));
  }
  if (!fd.valid()) return OpenError(path, errno);

  SharedFile file(path, std::move(fd), Access::kReadWrite);
  file.created_ = created;
  if (created) {
    const bool sized = ::fchmod(file.fd(), options.mode) == 0 && ::ftruncate(file.fd(), static_cast<off_t>(bytes)) == 0;
    if (!sized) {
      const int error = errno;
      ::unlink(path.c_str());
      return FailedPrecondition(path, ": cannot make ", FormatBytes(bytes), ": ", std::strerror(error));
    }
  } else {
    const Result<uint64_t> size = RegularSize(path, file.fd());
    if (!size.ok()) return size.status();
    if (*size != bytes && (!options.any_size || ::ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0)) {
      return FailedPrecondition(path, ": has ", *size, " bytes, expected ", bytes);
    }
  }
  if (Status status = file.Map(bytes, options.huge_pages); !status.ok()) {
    if (created) ::unlink(path.c_str());
    return status;
  }
  return file;
}

Result<SharedFile> SharedFile::OpenExisting(const std::string& path, Access access, bool huge_pages) {
  const int flags = (access == Access::kReadOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::open(path.c_str(), flags));
  if (!fd.valid()) return OpenError(path, errno);
  SharedFile file(path, std::move(fd), access);
  const Result<uint64_t> size = RegularSize(path, file.fd());
  if (!size.ok()) return size.status();
  if (*size == 0) return FailedPrecondition(path, ": is empty");
  if (Status status = file.Map(*size, huge_pages); !status.ok()) return status;
  return file;
}

Status SharedFile::Map(uint64_t bytes, bool huge_pages) {
  const int protection = access_ == Access::kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const data = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd_.get(), 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(path_, ": cannot map ", FormatBytes(bytes), ": ", std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
  if (huge_pages) ::madvise(data, bytes, MADV_HUGEPAGE);
  return Status::Ok();
}

Status SharedFile::Reserve(uint64_t offset, uint64_t bytes) {
  HEARTH_CHECK(offset <= size_ && bytes <= size_ - offset, StrCat(path_, ": range outside of the file"));
  const auto no_space = [&](uint64_t need) {
    return ResourceExhausted(path_, ": need ", FormatBytes(need), " more, have ", FormatBytes(FreeBytes(fd_.get())),
                             " on its file system");
  };
  // What the file holds already may lie in the range; the rest must fit. Seen before tmpfs is filled to the brim, which
  // would starve its other users.
  const uint64_t held = AllocatedBytes(fd_.get());
  if (bytes > held && bytes - held > FreeBytes(fd_.get())) return no_space(bytes - held);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t step = std::min(kReserveStep, bytes - done);
    const int error = ::posix_fallocate(fd_.get(), static_cast<off_t>(offset + done), static_cast<off_t>(step));
    if (error == EINTR) continue;
    if (error == ENOSPC || error == ENOMEM || error == EDQUOT) return no_space(bytes - done);
    if (error != 0) return FailedPrecondition(path_, ": cannot reserve space: ", std::strerror(error));
    done += step;
  }
  return Status::Ok();
}

Status SharedFile::TryLockFor(LockKind kind, Deadline deadline) {
  const int operation = (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (::flock(fd_.get(), operation) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FailedPrecondition(path_, ": cannot lock: ", std::strerror(errno));
    if (deadline.Passed()) return DeadlineExceeded(path_, ": locked by another process");
    std::this_thread::sleep_for(std::min<Deadline::Clock::duration>(kLockPoll, deadline.Left()));
  }
  return Status::Ok();
}

void SharedFile::Unlock() { ::flock(fd_.get(), LOCK_UN); }

bool SharedFile::IsLinked() const {
  struct stat ours = {}, named = {};
  if (::fstat(fd_.get(), &ours) != 0 || ::lstat(path_.c_str(), &named) != 0) return false;
  return ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

void SharedFile::Remove() {
  if (IsLinked()) ::unlink(path_.c_str());
}

std::span<std::byte> SharedFile::bytes() {
  HEARTH_CHECK(access_ == Access::kReadWrite, path_ + " is mapped for reading only");
  return {data_, size_};
}

}  // namespace hearth
