#include "gpu_worker/loader/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "common/base/startup_error.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"
#include "gpu_worker/loader/tensor_source.h"

namespace hearth {

std::optional<std::string> ReadSmallFile(const std::string& path, uint64_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  struct stat stat {};
  if (!fd.valid() || ::fstat(fd.get(), &stat) != 0) {
    throw StartupError(path + ": " + WhyNotOpened(errno));
  }
  if (!S_ISREG(stat.st_mode)) throw StartupError(path + ": is no regular file" + kFetchAgain);
  const auto bytes = static_cast<uint64_t>(stat.st_size);
  if (bytes > max_bytes) throw StartupError(StrCat(path, ": has ", bytes, " bytes, at most ", max_bytes, " expected"));
  std::string text(bytes, '\0');
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd.get(), text.data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw StartupError(path + ": read failed: " + (got < 0 ? std::strerror(errno) : "it got shorter"));
    done += static_cast<uint64_t>(got);
  }
  return text;
}

std::string WhyNotOpened(int error) {
  return std::string("cannot be opened: ") + std::strerror(error) +
         (error == EACCES ? "; let the worker's user read it" : kFetchAgain);
}

}  // namespace hearth
