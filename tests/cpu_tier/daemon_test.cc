#include "cpu_tier/daemon.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "common/expert_link/link_view.h"
#include "common/ipc/shared_file.h"
#include "tests/gpu_worker/loader/temp_dir.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

bool Waits() { return true; }

// A region as a worker makes it.
class Region {
 public:
  Region(const std::string& path, const HomeView& home, uint64_t instance) {
    const LinkLayout layout =
        *ComputeLinkLayout({.hidden = home.hidden(), .max_rows = 1, .max_picks = 4, .max_experts = 4, .slots = 2});
    file_ = std::make_unique<SharedFile>(*SharedFile::Create(path, layout.total_bytes, {}));
    view_ = std::make_unique<LinkView>(LinkView::Initialize(file_->bytes(), layout,
                                                            {.fingerprint = home.fingerprint(),
                                                             .layers = home.layers(),
                                                             .experts = home.experts(),
                                                             .worker_pid = ::getpid(),
                                                             .worker_instance = instance,
                                                             .attachment = 1}));
    beat_ = std::jthread([this](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(20ms)) header().worker_beat.fetch_add(1);
    });
  }
  bool served() const { return header().daemon_pid.load() != 0 && header().detached.load() == 0; }
  LinkHeader& header() const { return view_->header(); }
  const std::string& path() const { return file_->path(); }

 private:
  std::unique_ptr<SharedFile> file_;
  std::unique_ptr<LinkView> view_;
  std::jthread beat_;  // of a worker that lives
};

class DaemonAttach : public ::testing::Test {
 protected:
  DaemonAttach() : home_(tiny_.view()) { tiny_.WriteTo(home_path()); }

  std::string home_path() const { return dir_.path() + "/home"; }
  AttachRequestSpec Spec(const std::string& link_path) const {
    return {.home_path = home_path(),
            .link_path = link_path,
            .fingerprint = home_.fingerprint(),
            .home_layout_version = kHomeLayoutVersion,
            .link_version = kLinkVersion,
            .worker_instance = kWorker};
  }
  Region MakeRegion(const std::string& name) const { return {dir_.path() + "/" + name, home_, kWorker}; }

  static constexpr uint64_t kWorker = 7;
  const testing::TempDir dir_;
  const testing::TinyHome tiny_{{.layers = 1, .experts = 4, .hidden = 128, .width = 128}};
  const HomeView home_;
  Daemon daemon_{ChooseKernels("ref", "auto"), CpuChoice{{0}, false}};
};

TEST_F(DaemonAttach, AnAttachmentReplacesAnOlderOneOfItsWorker) {
  const Region older = MakeRegion("older"), newer = MakeRegion("newer");
  ASSERT_TRUE(daemon_.Attach(Spec(older.path()), Waits).status.ok());
  EXPECT_TRUE(older.served());
  const Status status = daemon_.Attach(Spec(newer.path()), Waits).status;
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(older.served());
  EXPECT_TRUE(newer.served());
}

TEST_F(DaemonAttach, ACallerThatNoLongerWaitsCostsItsSuccessorNothing) {
  const Region late = MakeRegion("late"), living = MakeRegion("living");
  ASSERT_TRUE(daemon_.Attach(Spec(living.path()), Waits).status.ok());
  EXPECT_EQ(daemon_.Attach(Spec(late.path()), [] { return false; }).status.code(), StatusCode::kCancelled);
  EXPECT_FALSE(late.served());
  EXPECT_TRUE(living.served());
  EXPECT_TRUE(daemon_.attached());
}

TEST_F(DaemonAttach, ARegionOrHomeThatCannotBeServedCostsTheLivingAttachmentNothing) {
  const Region living = MakeRegion("living"), given_up = MakeRegion("given_up");
  ASSERT_TRUE(daemon_.Attach(Spec(living.path()), Waits).status.ok());
  EXPECT_EQ(daemon_.Attach(Spec(dir_.path() + "/none"), Waits).status.code(), StatusCode::kNotFound);
  given_up.header().closed.store(1);
  EXPECT_FALSE(daemon_.Attach(Spec(given_up.path()), Waits).status.ok());
  AttachRequestSpec homeless = Spec(living.path());
  homeless.home_path += "-none";
  EXPECT_FALSE(daemon_.Attach(homeless, Waits).status.ok());
  EXPECT_TRUE(living.served());
  EXPECT_TRUE(daemon_.attached());
}

TEST_F(DaemonAttach, AForcedInt16KernelServesOnlyWhoDoesNotNeedTheBitsOfFp32) {
  Daemon forced(ChooseKernels("ref", "int16"), CpuChoice{{0}, false});
  const Region region = MakeRegion("region");
  AttachRequestSpec exact = Spec(region.path());
  exact.needs_fp32_bits = true;
  const Status refused = forced.Attach(exact, Waits).status;
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("--kernel auto or fp32"), std::string::npos) << refused.message();
  EXPECT_FALSE(region.served());
  ASSERT_TRUE(forced.Attach(Spec(region.path()), Waits).status.ok());
  EXPECT_EQ(forced.kernel(), "ref-int16");
  EXPECT_TRUE(daemon_.Attach(exact, Waits).status.ok()) << "--kernel auto gives them";
}

}  // namespace
}  // namespace hearth
