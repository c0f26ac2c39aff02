#include "kernels/mla/attended_row.h"

#include "kernels/mla/attended_slots.h"
#include "tests/kernels/support/paged.h"

namespace hearth::kernels {
namespace {

TEST(AttendedRow, HasTheSlotsThatTheListHas) {
  Numbers numbers(5);
  for (Dim kpool : {1, 3, 4}) {
    PagedRows paged(2, 90, 12, 5);
    for (Dim r = 0; r < 90; ++r) paged.Add(r % 2, r);
    std::vector<int32_t> selected(90 * 90, -1), count(90);
    for (Dim r = 0; r < 90; ++r) {
      for (Dim p = 0; p < (r + 1) / kpool; ++p) {
        if (numbers.Next() > -0.3) selected[r * 90 + count[r]++] = static_cast<int32_t>(p);
      }
    }
    LatentAttentionArgs args;
    args.where = paged.Where();
    args.selected = selected.data();
    args.selected_count = count.data();
    args.selected_stride = 90;
    args.kpool = kpool;
    for (Dim r = 0; r < 90; ++r) {
      const AttendedRow row(args, r);
      ASSERT_EQ(row.count, AttendedCount(args, r));
      ForAttendedSlots(args, r, [&](Dim rank, Dim slot) { EXPECT_EQ(row.Slot(static_cast<uint32_t>(rank)), slot); });
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
