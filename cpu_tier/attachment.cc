#include "cpu_tier/attachment.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "common/base/check.h"
#include "common/log/log.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeatEvery = 100ms;
constexpr auto kWorkerSilence = 3s;

Status CheckVersions(const AttachRequestSpec& spec) {
  if (spec.home_layout_version != kHomeLayoutVersion || spec.link_version != kLinkVersion) {
    return FailedPrecondition("the worker has home layout ", spec.home_layout_version, " and link version ",
                              spec.link_version, ", cpu_tier has ", kHomeLayoutVersion, " and ", kLinkVersion,
                              "; run binaries of one build");
  }
  if (spec.fingerprint.empty()) return InvalidArgument("the worker named no fingerprint");
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Attachment>> Attachment::Open(const AttachRequestSpec& spec) {
  if (Status status = CheckVersions(spec); !status.ok()) return status;
  Result<SharedFile> home_file = SharedFile::OpenExisting(spec.home_path, SharedFile::Access::kReadOnly, true);
  if (!home_file.ok()) return home_file.status();
  const auto home_bytes = std::as_const(*home_file).bytes();
  Result<HomeView> home = HomeView::Open(home_bytes.data(), home_bytes.size(), spec.fingerprint);
  if (!home.ok()) return home.status();
  Result<SharedFile> link_file = SharedFile::OpenExisting(spec.link_path, SharedFile::Access::kReadWrite);
  if (!link_file.ok()) return link_file.status();
  Result<LinkView> link =
      LinkView::Open(link_file->bytes(), spec.fingerprint, home->hidden(), home->layers(), home->experts());
  if (!link.ok()) return link.status();
  const LinkHeader& header = link->header();
  if (header.worker_instance != spec.worker_instance || header.closed.load(std::memory_order_acquire) != 0) {
    return FailedPrecondition(spec.link_path, ": belongs to another worker, or was given up");
  }
  return std::unique_ptr<Attachment>(
      new Attachment(*std::move(home_file), *home, *std::move(link_file), *link, spec.worker_pid_namespace));
}

void Attachment::Start(uint64_t daemon_instance, const kernels::ExpertKernel& kernel, ThreadTeam& team,
                       TierCounters& counters) {
  LinkHeader& header = link_.header();
  header.daemon_instance.store(daemon_instance, std::memory_order_relaxed);
  header.daemon_pid.store(::getpid(), std::memory_order_relaxed);
  header.daemon_beat.fetch_add(1, std::memory_order_release);
  loop_ = std::make_unique<JobLoop>(home_, link_, kernel, team, counters);
  kernel_ = kernel.name();
  watch_ = std::thread([this] { Watch(); });
}

Attachment::Attachment(SharedFile home_file, HomeView home, SharedFile link_file, LinkView link,
                       uint64_t worker_pid_namespace)
    : home_file_(std::move(home_file)),
      link_file_(std::move(link_file)),
      home_(home),
      link_(link),
      worker_instance_(link_.header().worker_instance),
      worker_{link_.header().worker_pid, worker_pid_namespace},
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  HEARTH_CHECK(stop_.valid(), "eventfd");
}

Attachment::~Attachment() {
  if (!watch_.joinable()) return;  // never started
  const uint64_t one = 1;
  HEARTH_CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one, "eventfd");
  watch_.join();
  loop_.reset();
}

// Beats, and judges the worker.
void Attachment::Watch() {
  LinkHeader& header = link_.header();
  PeerWatch worker(worker_, header.worker_beat, kWorkerSilence);
  const char* reason = nullptr;
  while (reason == nullptr) {
    const PeerWatch::State state = worker.Wait(kBeatEvery, stop_.get());
    header.daemon_beat.fetch_add(1, std::memory_order_relaxed);
    uint64_t told = 0;
    if (state == PeerWatch::State::kDied) reason = "the worker ended";
    if (state == PeerWatch::State::kSilent) reason = "the worker is silent";
    if (header.closed.load(std::memory_order_acquire) != 0) reason = "the worker closed the link";
    pollfd stop = {stop_.get(), POLLIN, 0};
    if (::poll(&stop, 1, 0) > 0 && ::read(stop_.get(), &told, sizeof told) > 0) reason = "detached";
  }
  loop_->Stop();
  header.detached.store(1, std::memory_order_release);
  Log(LogLevel::kInfo, "detached", {{"reason", reason}, {"worker_pid", worker_.pid}});
  ended_.store(true, std::memory_order_release);
}

}  // namespace hearth
