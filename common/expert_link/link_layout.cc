#include "common/expert_link/link_layout.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxHidden = 1 << 20, kMaxRows = 4096, kMaxPicks = 1 << 16, kMaxExperts = 1 << 16, kMaxSlots = 64;

bool InRange(uint32_t value, uint32_t most) { return value >= 1 && value <= most; }

uint64_t Line(uint64_t value) { return (value + 63) / 64 * 64; }

}  // namespace

Result<LinkLayout> ComputeLinkLayout(const LinkGeometry& g) {
  if (!InRange(g.hidden, kMaxHidden) || !InRange(g.max_rows, kMaxRows) || !InRange(g.max_picks, kMaxPicks) ||
      !InRange(g.max_experts, kMaxExperts) || !InRange(g.slots, kMaxSlots)) {
    return InvalidArgument("link geometry out of range: hidden ", g.hidden, ", rows ", g.max_rows, ", picks ",
                           g.max_picks, ", experts ", g.max_experts, ", slots ", g.slots);
  }
  LinkLayout l;
  l.geometry = g;
  l.daemon_line = sizeof(SlotWorkerLine);
  l.experts = l.daemon_line + sizeof(SlotDaemonLine);
  l.x_row = l.experts + Line(uint64_t{g.max_experts} * sizeof(JobExpert));
  l.x = l.x_row + Line(uint64_t{g.max_picks} * sizeof(uint32_t));
  l.out = l.x + Line(uint64_t{g.max_rows} * g.hidden * sizeof(float));
  l.slot_stride = l.out + Line(uint64_t{g.max_picks} * g.hidden * sizeof(float));
  l.slots_offset = sizeof(LinkHeader);
  l.total_bytes = l.slots_offset + g.slots * l.slot_stride;
  return l;
}

}  // namespace hearth
