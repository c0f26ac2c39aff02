#include "common/expert_home/home_view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using testing::TinyHome;
using testing::TinyHomeSpec;

// A copy of a good home that a test damages.
class HomeViewTest : public ::testing::Test {
 protected:
  HomeViewTest() : home_(TinyHomeSpec{}), size_(home_.bytes().size()) {
    memory_.resize(size_ / 64 + 1);
    Restore();
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };

  void Restore() { std::memcpy(memory_.data(), home_.bytes().data(), size_); }
  std::byte* base() { return memory_[0].bytes; }
  HomeHeader& header() { return *reinterpret_cast<HomeHeader*>(base()); }
  HomeExpert& expert(uint32_t i) { return reinterpret_cast<HomeExpert*>(base() + header().directory_offset)[i]; }
  std::string Problem(const std::string& fingerprint = "") {
    const Result<HomeView> view = HomeView::Open(base(), size_, fingerprint);
    return view.ok() ? "" : view.status().message();
  }

  TinyHome home_;
  size_t size_;
  std::vector<Line> memory_;
};

TEST_F(HomeViewTest, OpensAndShowsExperts) {
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(Problem(TinyHomeSpec{}.fingerprint), "");
  const HomeView view = *HomeView::Open(base(), size_, "");
  EXPECT_EQ(view.layers(), 3u);
  EXPECT_EQ(view.experts(), 16u);
  EXPECT_EQ(view.fingerprint(), TinyHomeSpec{}.fingerprint);
  const MlpView mlp = view.Expert(2, 15);
  EXPECT_EQ(mlp.gate.in_features, 256);
  EXPECT_EQ(mlp.down.out_features, 256);
  EXPECT_EQ(mlp.limit, 10.0f);
  EXPECT_GE(static_cast<const std::byte*>(mlp.down.data), view.record(2, 15));
  EXPECT_LE(static_cast<const std::byte*>(mlp.down.data) + mlp.down.bytes(), base() + size_);
}

TEST_F(HomeViewTest, RecordAndScalesAreSeparate) {
  const HomeView view = *HomeView::Open(base(), size_, "");
  std::vector<std::byte> copy(view.record(1, 3), view.record(1, 3) + view.record_stride());
  const MlpView mlp = view.Expert(1, 3, copy.data());
  EXPECT_EQ(mlp.gate.data, copy.data() + view.entry(1, 3).gate.data_offset);
  EXPECT_EQ(mlp.gate.suh, view.Expert(1, 3).gate.suh);
}

TEST_F(HomeViewTest, ChecksumSeesDataAndScales) {
  const HomeView view = *HomeView::Open(base(), size_, "");
  const uint64_t before = view.Checksum(0, 1);
  base()[view.header().records_offset + view.record_stride() + 5] ^= std::byte{1};
  EXPECT_NE(view.Checksum(0, 1), before);
  Restore();
  base()[view.entry(0, 1).down.svh_offset] ^= std::byte{1};
  EXPECT_NE(view.Checksum(0, 1), before);
}

TEST_F(HomeViewTest, RefusesEveryBrokenField) {
  const std::vector<std::pair<const char*, std::function<void()>>> cases = {
      {"no expert home", [&] { header().magic[3] ^= 1; }},
      {"layout version", [&] { header().layout_version = 2; }},
      {"layout version", [&] { header().header_bytes = 128; }},
      {"without an end", [&] { std::memset(header().fingerprint, 'a', 64); }},
      {"layers", [&] { header().layers = 0; }},
      {"layers", [&] { header().experts = UINT32_MAX; }},
      {"outside", [&] { header().layers = 4000; }},
      {"experts of", [&] { header().hidden = 0; }},
      {"experts of", [&] { header().width = UINT32_MAX; }},
      {"swiglu_limit", [&] { header().swiglu_limit = 0; }},
      {"swiglu_limit", [&] { header().swiglu_limit = std::numeric_limits<float>::quiet_NaN(); }},
      {"asks for", [&] { header().total_bytes = UINT64_MAX; }},
      {"asks for", [&] { header().total_bytes = size_ + 1; }},
      {"outside", [&] { header().total_bytes = 4096; }},
      {"outside", [&] { header().record_stride = 0; }},
      {"outside", [&] { header().record_stride += 64; }},
      {"larger than possible", [&] { header().record_stride = UINT64_MAX - 4095; }},
      {"outside", [&] { header().record_stride *= 2; }},
      {"outside", [&] { header().records_offset = UINT64_MAX - 4095; }},
      {"outside", [&] { header().records_offset += 1; }},
      {"outside", [&] { header().directory_offset = UINT64_MAX - 63; }},
      {"outside", [&] { header().directory_offset = 0; }},
      {"outside", [&] { header().directory_offset += 1; }},
      {"outside", [&] { header().filled_offset = size_ * 2; }},
      {"outside", [&] { header().scales_offset = size_ * 2; }},
      {"not complete", [&] { header().complete = 0; }},
      {"not complete", [&] { header().complete += 1; }},
      {"not filled", [&] { std::memset(base() + header().filled_offset + 4, 0, 4); }},
      {"of kind", [&] { expert(17).up.kind = 0; }},
      {"of kind", [&] { expert(17).up.kind = 9; }},
      {"bits", [&] { expert(17).up.bits = 9; }},
      {"bits", [&] { expert(17).up.bits = 0; }},
      {"codebook", [&] { expert(17).up.codebook = 3; }},
      {"outside its record", [&] { expert(17).up.bits += 1; }},
      {"expected 256 x 128", [&] { expert(17).up.in_features = 255; }},
      {"expected 128 x 256", [&] { std::swap(expert(47).down.in_features, expert(47).down.out_features); }},
      {"padding", [&] { expert(17).gate.in_padded = 1 << 20; }},
      {"outside its record", [&] { expert(17).gate.data_bytes += 1; }},
      {"outside its record", [&] { expert(17).gate.data_offset = header().record_stride; }},
      {"outside its record", [&] { expert(17).gate.data_offset = UINT64_MAX - 63; }},
      {"outside its record", [&] { expert(17).gate.data_offset += 4; }},
      {"scales outside", [&] { expert(47).down.svh_offset = header().records_offset; }},
      {"scales outside", [&] { expert(47).down.suh_offset = 0; }},
      {"scales outside", [&] { expert(47).down.suh_offset = UINT64_MAX - 63; }},
      {"padding", [&] { expert(3).up.in_padded += 128; }},
      {"outside its record", [&] { expert(3).down.kind = static_cast<uint32_t>(WeightKind::kF32); }},
  };
  int number = 0;
  for (const auto& [expected, damage] : cases) {
    Restore();
    damage();
    const std::string problem = Problem();
    EXPECT_NE(problem.find(expected), std::string::npos) << number << ": " << expected << " is not in: " << problem;
    ++number;
  }
  Restore();
  EXPECT_NE(Problem("ffffffffffffffffffffffffffffffff").find("fingerprint"), std::string::npos);
  EXPECT_FALSE(HomeView::Open(base(), 100, "").ok());
  EXPECT_FALSE(HomeView::Open(base() + 1, size_ - 1, "").ok());
}

// Random words in header and directory: refused, or all that the view then shows lies inside the region.
TEST_F(HomeViewTest, SurvivesMutations) {
  std::mt19937_64 random(5);
  const size_t tables = header().directory_offset + 48 * sizeof(HomeExpert);
  int opened = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    Restore();
    for (uint64_t n = 1 + random() % 2; n > 0; --n) {
      const uint64_t words[] = {random(), random() % 65536, 0, UINT64_MAX, uint64_t{1} << random() % 64};
      const uint64_t word = words[random() % 5];
      std::memcpy(base() + random() % (tables / 4 - 1) * 4, &word, random() % 2 ? 4 : 8);
    }
    const Result<HomeView> view = HomeView::Open(base(), size_, "");
    if (!view.ok()) {
      ++refused;
      continue;
    }
    ++opened;
    for (uint32_t layer = 0; layer < view->layers(); ++layer) {
      for (uint32_t e = 0; e < view->experts(); ++e) {
        const MlpView mlp = view->Expert(layer, e);
        for (const auto* m : {&mlp.gate, &mlp.up, &mlp.down}) {
          const auto* data = static_cast<const std::byte*>(m->data);
          ASSERT_TRUE(data >= base() && data + m->bytes() <= base() + size_);
          const auto* svh = reinterpret_cast<const std::byte*>(m->svh);
          ASSERT_TRUE(svh == nullptr || (svh >= base() && svh + 2 * m->out_padded <= base() + size_));
        }
      }
    }
  }
  EXPECT_GT(opened, 50);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hearth
