#include "gpu_worker/experts/cpu_tier_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "common/base/check.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "hearth/v1/cpu_tier.grpc.pb.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeatEvery = 100ms;
constexpr auto kDaemonSilence = 500ms;
constexpr auto kNoSlotFor = 1s;       // a daemon that beats but ends no job is as good as dead
constexpr auto kConnectTime = 200ms;  // of one try; the end of this object waits for it
constexpr auto kCallTime = 2s;
constexpr auto kFarewellTime = 300ms;
constexpr auto kShortestPause = 50ms, kLongestPause = 800ms;
constexpr uint32_t kSlots = 4;  // the running job, and room for late ones

uint64_t RandomInstance() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

bool IsSilence(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

std::string WhyNot(const std::string& address, const grpc::Status& status) {
  return StrCat("cpu_tier at ", address, ": ", IsSilence(status) ? "does not answer" : status.error_message());
}

std::string Without(std::string text, const std::string& part) {
  if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
  return text;
}

CpuTierClientOptions WithDefaults(CpuTierClientOptions options) {
  if (options.geometry.slots == 0) options.geometry.slots = kSlots;
  return options;
}

}  // namespace

LinkGeometry LinkGeometryFor(uint32_t hidden, uint32_t experts, uint32_t max_rows, uint32_t top_k) {
  LinkGeometry g;
  g.hidden = hidden;
  g.max_rows = max_rows;
  g.max_picks = max_rows * top_k;
  g.max_experts = std::min(experts, g.max_picks);
  g.slots = kSlots;
  return g;
}

CpuTierClient::CpuTierClient(const CpuTierClientOptions& options, LinkLane& lane)
    : options_(WithDefaults(options)),
      instance_(RandomInstance()),
      lane_(lane),
      channel_(MakeChannel(options.address)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  HEARTH_CHECK(stop_.valid(), "eventfd");
  state_.reason = "not attached yet";
  RemoveStaleLinks(options_.link_dir);
  thread_ = std::thread([this] { Run(); });
}

CpuTierClient::~CpuTierClient() {
  stopping_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  HEARTH_CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one, "eventfd");
  {
    const std::lock_guard lock(mutex_);
    if (running_call_ != nullptr) running_call_->TryCancel();
  }
  thread_.join();
}

CpuTierState CpuTierClient::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void CpuTierClient::Run() {
  auto pause = kShortestPause;
  while (!stopping()) {
    if (TryAttach()) {
      pause = kShortestPause;
      Watch();
      continue;
    }
    pollfd stop = {stop_.get(), POLLIN, 0};
    ::poll(&stop, 1, static_cast<int>(pause.count()));
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
  }
}

bool CpuTierClient::TryAttach() {
  // Nothing reads a channel's socket while no call waits on it, so a connection could never come up between two calls
  // that fail at once; and without a connection no link file has to be made.
  if (!channel_->WaitForConnected(std::chrono::system_clock::now() + kConnectTime)) {
    Hindered(Hindrance::kSilent, StrCat("cpu_tier at ", options_.address, ": does not answer"));
    return false;
  }
  LinkIdentity identity;
  identity.fingerprint = options_.fingerprint;
  identity.layers = options_.layers;
  identity.experts = options_.experts;
  identity.worker_pid = ::getpid();
  identity.worker_instance = instance_;
  identity.attachment = ++attempts_;
  Result<std::shared_ptr<LinkAttachment>> made =
      LinkAttachment::Create(options_.link_dir, options_.geometry, identity, *options_.memory);
  if (!made.ok()) {
    Hindered(Hindrance::kNoRegion, made.status().message());
    return false;
  }
  v1::AttachRequest request;
  request.set_home_path(options_.home_path);
  request.set_link_path((*made)->path());
  request.set_fingerprint(options_.fingerprint);
  request.set_home_layout_version(options_.home_layout_version);
  request.set_link_version(options_.link_version);
  request.set_worker_instance(instance_);
  request.set_int16_welcome(options_.int16_welcome);
  request.set_needs_fp32_bits(options_.needs_fp32_bits);
  request.set_pid_namespace(PidNamespace());
  v1::AttachResponse response;
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + kCallTime);
  {
    const std::lock_guard lock(mutex_);
    if (stopping()) return false;
    running_call_ = &call;
  }
  const grpc::Status status = v1::CpuTier::NewStub(channel_)->Attach(&call, request, &response);
  {
    const std::lock_guard lock(mutex_);
    running_call_ = nullptr;
  }
  (*made)->Unlink();
  if (!status.ok()) {
    (*made)->GiveUp();
    Hindered(IsSilence(status) ? Hindrance::kSilent : Hindrance::kRefused, WhyNot(options_.address, status),
             (*made)->path());
    return false;
  }
  attachment_ = *std::move(made);
  daemon_ = {static_cast<int>(response.pid()), response.pid_namespace()};
  hindrance_ = Hindrance::kNone;
  const std::lock_guard lock(mutex_);
  state_.up = true;
  state_.reason.clear();
  state_.isa = response.isa();
  state_.threads = response.threads();
  state_.selftest = response.selftest();
  ++state_.attachments;
  Log(LogLevel::kInfo, "cpu_tier attached",
      {{"address", options_.address}, {"isa", response.isa()}, {"threads", response.threads()}});
  return true;
}

// Until the daemon is lost or this object ends.
void CpuTierClient::Watch() {
  LinkHeader& header = attachment_->view().header();
  PeerWatch daemon(daemon_, header.daemon_beat, kDaemonSilence);
  lane_.Attach(attachment_);
  for (;;) {
    const PeerWatch::State state = daemon.Wait(kBeatEvery, stop_.get());
    header.worker_beat.fetch_add(1, std::memory_order_relaxed);
    if (stopping()) {
      Drop("the worker is stopping");
      Detach();
      return;
    }
    if (state == PeerWatch::State::kDied) return Drop("cpu_tier died");
    if (state == PeerWatch::State::kSilent) return Drop("cpu_tier is silent");
    if (header.detached.load(std::memory_order_acquire) != 0) return Drop("cpu_tier detached");
    if (lane_.WithoutSlotFor() > kNoSlotFor) return Drop("cpu_tier ends no job");
  }
}

void CpuTierClient::Drop(const std::string& reason) {
  lane_.Drop();
  attachment_.reset();
  NotAttached(reason);
  Log(stopping() ? LogLevel::kInfo : LogLevel::kWarning, "cpu_tier lane off", {{"reason", reason}});
}

void CpuTierClient::NotAttached(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  state_.up = false;
  state_.reason = reason;
}

void CpuTierClient::Hindered(Hindrance what, const std::string& reason, const std::string& link_path) {
  NotAttached(reason);
  if (stopping()) return;
  const auto now = std::chrono::steady_clock::now();
  if (what != hindrance_) {
    hindrance_ = what;
    hindered_since_ = now;
    told_.clear();
  }
  if (what == Hindrance::kSilent && now - hindered_since_ < options_.silence_allowed) return;
  // Every try makes a region with another number, and what a region lacks changes as well: neither is news.
  const std::string news = Without(reason, link_path);
  if (!told_.empty() && (what != Hindrance::kRefused || news == told_)) return;
  told_ = news;
  std::string advice;  // a daemon that refuses says itself what would work
  if (what == Hindrance::kSilent) advice = "; start hearth-cpu-tier";
  if (what == Hindrance::kNoRegion) advice = "; it is tried again until the region can be made";
  if (!advice.empty()) advice += ", or run the worker without the CPU lane: --cpu-tier \"\" or --cpu-lane never";
  Log(LogLevel::kWarning, "cpu_tier not attached", {{"reason", reason + advice}});
}

void CpuTierClient::Detach() {
  v1::DetachRequest request;
  request.set_worker_instance(instance_);
  v1::DetachResponse response;
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + kFarewellTime);
  // A daemon that does not hear this finds the region closed.
  const grpc::Status ignored = v1::CpuTier::NewStub(channel_)->Detach(&call, request, &response);
  static_cast<void>(ignored);
}

}  // namespace hearth
