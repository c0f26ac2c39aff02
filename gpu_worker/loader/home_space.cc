#include "gpu_worker/loader/home_space.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"

namespace hearth {

std::string HomeSpaceProblem(const std::string& home_dir, uint64_t needed, uint64_t available) {
  if (available >= needed) return "";
  return StrCat("expert home: needs ", FormatBytes(needed), " (", needed, " bytes), but ", home_dir, " has only ",
                FormatBytes(available), " (", available,
                " bytes) free; enlarge that mount or choose a larger tmpfs with --home-dir");
}

void CheckHomeSpace(const std::string& home_dir, uint64_t needed) {
  struct stat stat {};
  if (::stat(home_dir.c_str(), &stat) != 0 || !S_ISDIR(stat.st_mode)) {
    throw StartupError("expert home: " + home_dir + " is no directory; create it or choose a tmpfs with --home-dir");
  }
  struct statvfs space {};
  if (::statvfs(home_dir.c_str(), &space) != 0) {
    throw StartupError("expert home: " + home_dir + ": free space is unknown: " + std::strerror(errno));
  }
  const uint64_t available = uint64_t{space.f_bavail} * space.f_frsize;
  if (std::string problem = HomeSpaceProblem(home_dir, needed, available); !problem.empty()) {
    throw StartupError(problem);
  }
}

}  // namespace hearth
