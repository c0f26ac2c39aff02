#include "common/expert_link/link_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "common/expert_link/link_job.h"
#include "common/expert_link/link_view.h"

namespace hearth {
namespace {

constexpr LinkGeometry kGeometry{.hidden = 24, .max_rows = 4, .max_picks = 16, .max_experts = 8, .slots = 3};
const LinkIdentity kIdentity{"abc", 5, 10, 77, 99, 1};

class LinkRegion : public ::testing::Test {
 protected:
  LinkRegion() : layout_(*ComputeLinkLayout(kGeometry)), memory_(layout_.total_bytes + 64) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    region_ = {memory_.data() + (64 - address % 64), layout_.total_bytes};
  }
  LinkHeader& header() { return *reinterpret_cast<LinkHeader*>(region_.data()); }
  Status OpenStatus() { return LinkView::Open(region_, "abc", 24, 5, 10).status(); }

  LinkLayout layout_;
  std::vector<std::byte> memory_;
  std::span<std::byte> region_;
};

TEST(LinkLayout, OffsetsAreThoseOfTheDocument) {
  // docs/formats/link.md has these numbers; hearth-tiny with 8 rows.
  const LinkLayout l =
      *ComputeLinkLayout({.hidden = 256, .max_rows = 8, .max_picks = 32, .max_experts = 32, .slots = 4});
  EXPECT_EQ(l.slots_offset, 384u);
  EXPECT_EQ(l.daemon_line, 64u);
  EXPECT_EQ(l.experts, 128u);
  EXPECT_EQ(l.x_row, 384u);
  EXPECT_EQ(l.x, 512u);
  EXPECT_EQ(l.out, 8704u);
  EXPECT_EQ(l.slot_stride, 41472u);
  EXPECT_EQ(l.total_bytes, 384u + 4 * 41472u);
}

TEST(LinkLayout, PartsDoNotOverlapAndKeepToTheirLines) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const LinkGeometry g{1 + static_cast<uint32_t>(random() % 5000), 1 + static_cast<uint32_t>(random() % 64),
                         1 + static_cast<uint32_t>(random() % 512), 1 + static_cast<uint32_t>(random() % 300),
                         1 + static_cast<uint32_t>(random() % 8)};
    const LinkLayout l = *ComputeLinkLayout(g);
    for (uint64_t offset : {l.daemon_line, l.experts, l.x_row, l.x, l.out, l.slots_offset, l.slot_stride}) {
      ASSERT_EQ(offset % 64, 0u);
    }
    ASSERT_GE(l.x_row, l.experts + 8 * uint64_t{g.max_experts});
    ASSERT_GE(l.x, l.x_row + 4 * uint64_t{g.max_picks});
    ASSERT_GE(l.out, l.x + 4 * uint64_t{g.max_rows} * g.hidden);
    ASSERT_GE(l.slot_stride, l.out + 4 * uint64_t{g.max_picks} * g.hidden);
  }
}

TEST(LinkLayout, ImpossibleGeometriesAreRefused) {
  EXPECT_FALSE(ComputeLinkLayout({}).ok());
  EXPECT_FALSE(
      ComputeLinkLayout({.hidden = 0xFFFFFFFF, .max_rows = 1, .max_picks = 1, .max_experts = 1, .slots = 1}).ok());
  EXPECT_FALSE(ComputeLinkLayout({.hidden = 1, .max_rows = 1, .max_picks = 1, .max_experts = 1, .slots = 65}).ok());
}

TEST_F(LinkRegion, OpensWhatWasInitialized) {
  LinkView::Initialize(region_, layout_, kIdentity);
  const Result<LinkView> view = LinkView::Open(region_, "abc", 24, 5, 10);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_EQ(view->header().worker_pid, 77);
  EXPECT_EQ(reinterpret_cast<std::byte*>(view->out(2)) + 16 * 24 * 4, region_.data() + region_.size());
}

TEST_F(LinkRegion, RefusesWhatDoesNotFit) {
  LinkView::Initialize(region_, layout_, kIdentity);
  ASSERT_TRUE(OpenStatus().ok());
  EXPECT_FALSE(LinkView::Open(region_, "abd", 24, 5, 10).ok());
  EXPECT_FALSE(LinkView::Open(region_, "abc", 25, 5, 10).ok());
  EXPECT_FALSE(LinkView::Open(region_, "abc", 24, 6, 10).ok());
  EXPECT_FALSE(LinkView::Open(region_.first(200), "abc", 24, 5, 10).ok());
  EXPECT_FALSE(LinkView::Open(region_.first(region_.size() - 64), "abc", 24, 5, 10).ok());
  header().version = kLinkVersion + 1;
  EXPECT_NE(OpenStatus().message().find("version 2, expected 1"), std::string::npos) << OpenStatus().ToString();
  header().version = kLinkVersion;
  header().slot_stride += 64;
  EXPECT_FALSE(OpenStatus().ok());
  header().slot_stride -= 64;
  header().geometry.max_picks = 0xFFFFFFFF;
  EXPECT_FALSE(OpenStatus().ok());
  header().geometry = kGeometry;
  header().magic[0] = 'X';
  EXPECT_FALSE(OpenStatus().ok());
}

TEST_F(LinkRegion, GarbageNeverLeavesItsBounds) {
  const LinkView view = LinkView::Initialize(region_, layout_, kIdentity);
  std::mt19937 random(3);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto draw = [&](uint32_t most) {
      return random() % 10 == 0 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(random() % (most + 2));
    };
    SlotWorkerLine& line = view.worker_line(1);
    line.layer = draw(4);
    line.rows = draw(4);
    line.experts = draw(3);
    uint32_t sum = 0;
    for (uint32_t e = 0; e < 8; ++e) {
      view.experts(1)[e] = {draw(8), draw(3)};
      if (e < line.experts) sum += view.experts(1)[e].picks;
    }
    line.picks = random() % 4 == 0 ? draw(16) : sum;
    for (uint32_t p = 0; p < 16; ++p) view.x_row(1)[p] = random() % 20 == 0 ? draw(4) : 0;
    LinkJob job;
    if (!ReadJob(view, 1, 5, 10, job).ok()) continue;
    ++accepted;
    ASSERT_LT(job.layer, 5u);
    ASSERT_LE(job.rows, 4u);
    ASSERT_LE(job.picks(), 16u);
    uint32_t next = 0;
    for (const LinkJob::Expert& e : job.experts) {
      ASSERT_LT(e.expert, 10u);
      ASSERT_EQ(e.first_pick, next);
      next += e.picks;
    }
    ASSERT_EQ(next, job.picks());
    for (int32_t row : job.x_row) ASSERT_LT(static_cast<uint32_t>(row), job.rows);
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace hearth
