#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/expert_home/home_view.h"
#include "common/ipc/shared_file.h"
#include "common/log/log.h"
#include "gpu_worker/loader/expert_plan.h"

namespace hearth {

struct HomeOptions {
  std::string home_dir = "/dev/shm";
  std::chrono::milliseconds lock_wait{30'000};  // for a dying predecessor that still holds the home
  std::function<void(uint64_t)> add_bytes;      // what has been read from the checkpoint since; thread-safe
  std::function<void(LogLevel, const std::string&)> log;
  std::optional<uint64_t> sample_seed;  // which record of each layer an adoption compares anyhow; random when unset
};

// A complete home, mapped and locked for as long as the object lives. The file stays: a restarted worker adopts it.
class ExpertHome {
 public:
  const HomeView& view() const { return view_; }
  const std::string& path() const { return file_.path(); }
  std::string fingerprint() const { return view_.fingerprint(); }
  bool adopted() const { return adopted_; }
  // The mapping, for device registration.
  const std::byte* data() const { return file_.bytes().data(); }
  uint64_t bytes() const { return file_.size(); }

 private:
  friend ExpertHome OpenExpertHome(const TensorSource&, const std::vector<ExpertPlan>&, const HomePlan&,
                                   const HomeOptions&);
  ExpertHome(SharedFile file, SharedFile lock, HomeView view, bool adopted)
      : file_(std::move(file)), lock_(std::move(lock)), view_(view), adopted_(adopted) {}

  SharedFile file_;
  SharedFile lock_;
  HomeView view_;
  bool adopted_;
};

// Path of the home of a plan: `HOME_DIR/hearth-home-<16 digits>`; its lock is the same with `.lock`.
std::string HomePath(const std::string& home_dir, const HomePlan& plan);

// Memory that the home will take beyond what its file has now: none when it is complete, all when there is none; what
// an incomplete one holds comes free before it is made anew.
uint64_t HomeBytesToCome(const HomePlan& plan, const HomeOptions& options);

// Refuses now what OpenExpertHome would refuse for want of room, unless a home of this name is there already.
void CheckRoomForHome(const HomePlan& plan, const HomeOptions& options);

// Adopts a complete home of the same fingerprint after comparing with the checkpoint one record of each layer, and
// every record whose files may have changed since the home was made or last compared; makes a new one otherwise,
// reserving memory before writing it. Homes of other models stay untouched. Throws StartupError.
ExpertHome OpenExpertHome(const TensorSource& source, const std::vector<ExpertPlan>& experts, const HomePlan& plan,
                          const HomeOptions& options);

}  // namespace hearth
