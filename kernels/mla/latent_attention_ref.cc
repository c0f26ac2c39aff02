#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/mla/attended_slots.h"
#include "kernels/mla/kv_element.h"

namespace hearth::kernels::ref {

void LatentAttention(void*, const LatentAttentionArgs& args) {
  const Dim rank = args.rank;
  std::vector<Dim> slots;
  std::vector<Real> p;
  for (Dim row = 0; row < args.rows; ++row) {
    slots.resize(AttendedCount(args, row));
    p.resize(slots.size());
    ForAttendedSlots(args, row, [&](Dim j, Dim slot) { slots[j] = slot; });
    for (Dim h = 0; h < args.heads; ++h) {
      const Real* ql = args.ql + (row * args.heads + h) * rank;
      Real* ol = args.ol + (row * args.heads + h) * rank;
      for (size_t j = 0; j < slots.size(); ++j) {
        Real dot = 0;
        for (Dim i = 0; i < rank; ++i) dot += ql[i] * LoadKv(args.pool, args.kv_type, slots[j] * rank + i);
        p[j] = args.scale * dot;
      }
      const Real top = *std::max_element(p.begin(), p.end());
      Real sum = 0;
      for (Real& score : p) sum += score = std::exp(score - top);
      for (Dim i = 0; i < rank; ++i) ol[i] = 0;
      for (size_t j = 0; j < slots.size(); ++j) {
        const Real weight = p[j] / sum;
        for (Dim i = 0; i < rank; ++i) ol[i] += weight * LoadKv(args.pool, args.kv_type, slots[j] * rank + i);
      }
    }
  }
}

}  // namespace hearth::kernels::ref
