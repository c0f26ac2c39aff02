#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "common/expert_link/link_view.h"
#include "common/ipc/shared_file.h"
#include "kernels/memory_ops.h"

namespace hearth {

// One link region that this worker made, for one daemon. A daemon that is given up never gets its region back: the
// next attachment has a new one, so a late writer reaches only memory that nobody reads any more.
class LinkAttachment {
 public:
  // Makes the file `dir`/hearth-link-<pid>-<n>, reserved in full, and registers it with `memory`, so that the device
  // reads results in place.
  static Result<std::shared_ptr<LinkAttachment>> Create(const std::string& dir, const LinkGeometry& geometry,
                                                        const LinkIdentity& identity, const kernels::MemoryOps& memory);

  const LinkView& view() const { return view_; }
  const std::string& path() const { return file_.path(); }
  // Takes the name away once the daemon has mapped the file, so that nothing is left behind however this process ends.
  void Unlink() { file_.Remove(); }

  bool gone() const { return gone_.load(std::memory_order_acquire); }
  // Gives the region up and wakes whoever waits for a job in it.
  void GiveUp();

  ~LinkAttachment();

 private:
  LinkAttachment(SharedFile file, const LinkView& view, const kernels::MemoryOps& memory)
      : memory_(memory), file_(std::move(file)), view_(view) {}
  const kernels::MemoryOps& memory_;
  SharedFile file_;
  LinkView view_;
  std::atomic<bool> gone_{false};
};

// Removes link files that workers which no longer exist left in `dir`; among them those with the id of this process as
// long as it has made none itself.
void RemoveStaleLinks(const std::string& dir);

}  // namespace hearth
