#include "tools/home/home_files.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "common/expert_home/home_view.h"
#include "common/ipc/shared_file.h"

namespace hearth::home_tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "hearth-home-", kLockSuffix = ".lock";
// scripts/serve.sh keeps the homes that end with it in folders of its own.
constexpr std::string_view kServeFolder = "hearth-serve.";
constexpr size_t kMostNamed = 20;

bool LockIsHeld(const std::string& path) {
  Result<SharedFile> lock = SharedFile::OpenExisting(path + std::string(kLockSuffix), SharedFile::Access::kReadOnly);
  if (!lock.ok()) return false;
  return !lock->TryLockFor(SharedFile::LockKind::kShared, Deadline::After(std::chrono::milliseconds(0))).ok();
}

void AddHomes(const std::string& dir, std::vector<HomeFile>& homes) {
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    if (IsHomeName(it->path().filename())) homes.push_back(ReadHome(it->path()));
  }
}

}  // namespace

bool IsHomeName(const std::string& name) { return name.starts_with(kPrefix) && !name.ends_with(kLockSuffix); }

HomeFile ReadHome(const std::string& path) {
  HomeFile home{.path = path};
  home.in_use = LockIsHeld(path);
  Result<SharedFile> file = SharedFile::OpenExisting(path, SharedFile::Access::kReadOnly);
  if (!file.ok()) {
    home.problem = file.status().message();
    return home;
  }
  const SharedFile& mapped = *file;
  home.bytes = mapped.size();
  const Result<HomeView> view = HomeView::Open(mapped.bytes().data(), mapped.size(), "");
  if (!view.ok()) {
    home.problem = view.status().message();
    return home;
  }
  home.fingerprint = view->fingerprint();
  home.layers = view->layers();
  home.experts = view->experts();
  return home;
}

std::vector<HomeFile> ListHomes(const std::string& dir) {
  std::vector<HomeFile> homes;
  AddHomes(dir, homes);
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(kServeFolder)) AddHomes(it->path(), homes);
  }
  std::sort(homes.begin(), homes.end(), [](const HomeFile& a, const HomeFile& b) { return a.path < b.path; });
  return homes;
}

Result<Verified> VerifyHome(const std::string& path) {
  Result<SharedFile> file = SharedFile::OpenExisting(path, SharedFile::Access::kReadOnly);
  if (!file.ok()) return file.status();
  const SharedFile& mapped = *file;
  const Result<HomeView> view = HomeView::Open(mapped.bytes().data(), mapped.size(), "");
  if (!view.ok()) return view.status();
  const uint64_t count = uint64_t{view->layers()} * view->experts();
  std::vector<char> bad(count, 0);
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    for (uint64_t i; (i = next.fetch_add(1)) < count;) {
      const auto layer = static_cast<uint32_t>(i / view->experts()),
                 expert = static_cast<uint32_t>(i % view->experts());
      bad[i] = view->Checksum(layer, expert) != view->entry(layer, expert).checksum;
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  Verified result{.records = count};
  for (uint64_t i = 0; i < count && result.damaged.size() < kMostNamed; ++i) {
    if (bad[i]) result.damaged.push_back(StrCat("expert ", i % view->experts(), " of layer ", i / view->experts()));
  }
  return result;
}

Status DropHome(const HomeFile& home, bool force) {
  if (home.in_use && !force) {
    return FailedPrecondition(home.path,
                              ": a worker uses it; stop that worker, or --force (the memory is free when it ends)");
  }
  if (::unlink(home.path.c_str()) != 0) return FailedPrecondition(home.path, ": ", std::strerror(errno));
  if (!home.in_use) ::unlink((home.path + std::string(kLockSuffix)).c_str());
  return Status::Ok();
}

}  // namespace hearth::home_tool
