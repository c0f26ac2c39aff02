#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/deadline.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace hearth {

// A file on tmpfs, mapped whole and shared with other processes. Its size is set once. Move-only; the mapping and the
// lock go with the object, the file stays until Remove(). Pages hold zeros until written.
//
// Errors name the path: kFailedPrecondition for a file that is not as expected or cannot be opened, kNotFound where
// there is none, kResourceExhausted for no space, kDeadlineExceeded for a lock somebody else holds.
class SharedFile {
 public:
  enum class Existing { kRefuse, kReuse };
  enum class Access { kReadOnly, kReadWrite };
  enum class LockKind { kShared, kExclusive };

  struct CreateOptions {
    Existing existing = Existing::kRefuse;
    mode_t mode = 0600;       // of a new file, whatever the umask is
    bool huge_pages = false;  // asks for them (madvise); the kernel may decline
    bool any_size = false;    // kReuse: a file of another size is made this size, where its content says nothing
  };

  // Makes the file with `bytes` bytes, none of them reserved, and maps it for writing. With kReuse a regular file of
  // exactly this size is taken as it is; created() tells which of both happened.
  static Result<SharedFile> Create(const std::string& path, uint64_t bytes, const CreateOptions& options);
  // Maps a file that exists, with the size it has (at least one byte).
  static Result<SharedFile> OpenExisting(const std::string& path, Access access, bool huge_pages = false);

  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  // Takes memory for a range, so that writing to it cannot fail later (tmpfs would kill the writer with SIGBUS).
  Status Reserve(uint64_t offset, uint64_t bytes);

  // Locks the file against other openers (flock), polling until the deadline. A lock held already changes its kind. The
  // kernel releases it when the process dies.
  Status TryLockFor(LockKind kind, Deadline deadline);
  void Unlock();

  // Whether the path still names this file: a removed or replaced file lives on while mapped.
  bool IsLinked() const;
  // Takes the name away if it still names this file; mappings stay valid.
  void Remove();

  // Needs kReadWrite.
  std::span<std::byte> bytes();
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  uint64_t size() const { return size_; }
  bool created() const { return created_; }
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  SharedFile(std::string path, UniqueFd fd, Access access);
  Status Map(uint64_t bytes, bool huge_pages);
  void Unmap();

  std::string path_;
  UniqueFd fd_;
  Access access_ = Access::kReadOnly;
  bool created_ = false;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hearth
