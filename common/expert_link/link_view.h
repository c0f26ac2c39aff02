#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/result.h"
#include "common/expert_link/link_layout.h"

namespace hearth {

// Who made a region, and for which home.
struct LinkIdentity {
  std::string fingerprint;
  uint32_t layers = 0, experts = 0;
  int32_t worker_pid = 0;
  uint64_t worker_instance = 0;
  uint64_t attachment = 0;
};

// Typed access to a mapped link. Offsets come from the layout that this process computed and checked, never from the
// region again. Does not own the mapping.
class LinkView {
 public:
  // Worker: writes the header into zeroed memory of layout.total_bytes, `ready` last.
  static LinkView Initialize(std::span<std::byte> region, const LinkLayout& layout, const LinkIdentity& identity);
  // Daemon: checks the header against the region's size and the home that it is to serve.
  static Result<LinkView> Open(std::span<std::byte> region, const std::string& fingerprint, uint32_t hidden,
                               uint32_t layers, uint32_t experts);

  const LinkLayout& layout() const { return layout_; }
  const LinkGeometry& geometry() const { return layout_.geometry; }
  LinkHeader& header() const { return *reinterpret_cast<LinkHeader*>(base_); }
  SlotWorkerLine& worker_line(uint32_t slot) const { return *At<SlotWorkerLine>(slot, 0); }
  SlotDaemonLine& daemon_line(uint32_t slot) const { return *At<SlotDaemonLine>(slot, layout_.daemon_line); }
  JobExpert* experts(uint32_t slot) const { return At<JobExpert>(slot, layout_.experts); }
  uint32_t* x_row(uint32_t slot) const { return At<uint32_t>(slot, layout_.x_row); }
  float* x(uint32_t slot) const { return At<float>(slot, layout_.x); }
  float* out(uint32_t slot) const { return At<float>(slot, layout_.out); }

 private:
  LinkView(std::byte* base, const LinkLayout& layout) : base_(base), layout_(layout) {}
  template <typename T>
  T* At(uint32_t slot, uint64_t offset) const {
    return reinterpret_cast<T*>(base_ + layout_.slots_offset + slot * layout_.slot_stride + offset);
  }
  std::byte* base_;
  LinkLayout layout_;
};

}  // namespace hearth
