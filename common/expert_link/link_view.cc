#include "common/expert_link/link_view.h"

#include <cstring>

#include "common/base/check.h"

namespace hearth {

LinkView LinkView::Initialize(std::span<std::byte> region, const LinkLayout& layout, const LinkIdentity& identity) {
  HEARTH_CHECK(region.size() >= layout.total_bytes, "the link region is too small");
  HEARTH_CHECK(identity.fingerprint.size() < sizeof(LinkHeader::fingerprint), "the fingerprint is too long");
  const LinkView view(region.data(), layout);
  LinkHeader& h = view.header();
  std::memcpy(h.magic, kLinkMagic, sizeof h.magic);
  h.version = kLinkVersion;
  h.header_bytes = sizeof(LinkHeader);
  h.total_bytes = layout.total_bytes;
  h.slots_offset = layout.slots_offset;
  h.slot_stride = layout.slot_stride;
  h.geometry = layout.geometry;
  h.layers = identity.layers;
  h.experts = identity.experts;
  h.worker_pid = identity.worker_pid;
  h.worker_instance = identity.worker_instance;
  h.attachment = identity.attachment;
  std::memcpy(h.fingerprint, identity.fingerprint.data(), identity.fingerprint.size());
  h.ready.store(kLinkVersion, std::memory_order_release);  // pairs with the acquire in Open
  return view;
}

Result<LinkView> LinkView::Open(std::span<std::byte> region, const std::string& fingerprint, uint32_t hidden,
                                uint32_t layers, uint32_t experts) {
  const std::string what = "link: ";
  if (region.size() < sizeof(LinkHeader)) return FailedPrecondition(what, region.size(), " bytes are no header");
  const LinkHeader& h = *reinterpret_cast<const LinkHeader*>(region.data());
  const uint32_t ready = h.ready.load(std::memory_order_acquire);  // pairs with the release in Initialize
  if (std::memcmp(h.magic, kLinkMagic, sizeof h.magic) != 0) return FailedPrecondition(what, "is no link region");
  if (h.version != kLinkVersion || ready != kLinkVersion || h.header_bytes != sizeof(LinkHeader)) {
    return FailedPrecondition(what, "has version ", h.version, ", expected ", kLinkVersion);
  }
  if (h.fingerprint[sizeof h.fingerprint - 1] != 0 || fingerprint != h.fingerprint) {
    return FailedPrecondition(what, "belongs to another home");
  }
  const LinkGeometry geometry = h.geometry;  // one copy: it is checked and used, the region may change meanwhile
  if (geometry.hidden != hidden || h.layers != layers || h.experts != experts) {
    return FailedPrecondition(what, "has ", h.layers, " layers of ", h.experts, " experts of ", geometry.hidden,
                              " columns, the home has ", layers, ", ", experts, ", ", hidden);
  }
  const Result<LinkLayout> layout = ComputeLinkLayout(geometry);
  if (!layout.ok()) return layout.status();
  if (h.total_bytes != layout->total_bytes || h.slots_offset != layout->slots_offset ||
      h.slot_stride != layout->slot_stride || region.size() < layout->total_bytes) {
    return FailedPrecondition(what, "has ", region.size(), " bytes and sizes that do not fit its geometry");
  }
  return LinkView(region.data(), *layout);
}

}  // namespace hearth
