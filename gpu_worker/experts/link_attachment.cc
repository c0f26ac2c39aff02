#include "gpu_worker/experts/link_attachment.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "common/ipc/futex.h"

namespace hearth {
namespace {

const std::string kPrefix = "hearth-link-";

// Whether this process has made a link file. Before, a file with its id is one of an earlier process: in a container a
// worker that is started again gets the same id.
struct OwnFiles {
  std::mutex mutex;
  bool any = false;
};
OwnFiles own_files;

}  // namespace

Result<std::shared_ptr<LinkAttachment>> LinkAttachment::Create(const std::string& dir, const LinkGeometry& geometry,
                                                               const LinkIdentity& identity,
                                                               const kernels::MemoryOps& memory) {
  const Result<LinkLayout> layout = ComputeLinkLayout(geometry);
  if (!layout.ok()) return layout.status();
  const std::string path = StrCat(dir, "/", kPrefix, ::getpid(), "-", identity.attachment);
  {
    const std::lock_guard lock(own_files.mutex);
    own_files.any = true;
  }
  Result<SharedFile> file = SharedFile::Create(path, layout->total_bytes, {});
  if (!file.ok()) return file.status();
  if (Status status = file->Reserve(0, layout->total_bytes); !status.ok()) {
    file->Remove();
    return status;
  }
  const LinkView view = LinkView::Initialize(file->bytes(), *layout, identity);
  const std::string refusal = memory.register_host(file->bytes().data(), file->bytes().size());
  if (!refusal.empty()) {
    file->Remove();
    return ResourceExhausted("link region: ", refusal);
  }
  return std::shared_ptr<LinkAttachment>(new LinkAttachment(*std::move(file), view, memory));
}

LinkAttachment::~LinkAttachment() {
  memory_.unregister_host(file_.bytes().data());
  file_.Remove();
}

void LinkAttachment::GiveUp() {
  gone_.store(true, std::memory_order_release);
  view_.header().closed.store(1, std::memory_order_release);  // pairs with the acquire of the daemon's watch
  for (uint32_t slot = 0; slot < view_.geometry().slots; ++slot) FutexWake(view_.daemon_line(slot).done);
}

void RemoveStaleLinks(const std::string& dir) {
  const std::lock_guard lock(own_files.mutex);  // until the end: no file of this process comes up meanwhile
  std::error_code error;
  for (std::filesystem::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with(kPrefix)) continue;
    const int pid = std::atoi(name.c_str() + kPrefix.size());
    const bool left_over = pid == ::getpid() ? !own_files.any : pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
    if (left_over) {
      std::error_code ignored;
      std::filesystem::remove(it->path(), ignored);
    }
  }
}

}  // namespace hearth
