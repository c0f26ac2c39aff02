#include "gateway/worker_client/worker_choice.h"

#include <algorithm>

namespace hearth::engine {
namespace {

constexpr size_t kSessionTokens = 256;

uint64_t HashText(std::string_view text, uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Spreads a hash whose last bytes have hardly reached its upper bits.
uint64_t Mixed(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// How far a worker is from serving: 0 serves.
int Distance(const WorkerView& view) {
  if (!view.answers) return 4;
  switch (view.info.state) {
    case WorkerState::kReady:
      return 0;
    case WorkerState::kLoading:
      return 1;
    case WorkerState::kDraining:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

const char* StateWord(const WorkerView& view) {
  if (!view.answers) return "worker_down";
  switch (view.info.state) {
    case WorkerState::kReady:
      return "ready";
    case WorkerState::kLoading:
      return "loading";
    case WorkerState::kDraining:
      return "draining";
    default:
      return "worker_down";
  }
}

std::vector<bool> ServingWorkers(const WorkerViews& views) {
  std::vector<bool> serving(views.size());
  const WorkerView* first = nullptr;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!views[i]->ready()) continue;
    if (first == nullptr) first = views[i].get();
    serving[i] = views[i]->info.fingerprint == first->info.fingerprint;
  }
  return serving;
}

std::optional<size_t> PickWorker(std::string_view session, const std::vector<std::string>& targets,
                                 const std::vector<bool>& usable) {
  std::optional<size_t> best;
  uint64_t best_weight = 0;
  const uint64_t session_hash = HashText(session, 0xcbf29ce484222325);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!usable[i]) continue;
    const uint64_t weight = Mixed(HashText(targets[i], session_hash));
    if (best && weight <= best_weight) continue;
    best = i;
    best_weight = weight;
  }
  return best;
}

std::shared_ptr<const WorkerView> CombinedView(const WorkerViews& views) {
  if (views.size() == 1) return views.front();
  const auto nearest = *std::min_element(views.begin(), views.end(),
                                         [](const auto& a, const auto& b) { return Distance(*a) < Distance(*b); });
  auto combined = std::make_shared<WorkerView>(*nearest);
  const std::vector<bool> serving = ServingWorkers(views);
  for (size_t i = 0; i < views.size(); ++i) {
    if (!serving[i]) continue;
    combined->info.max_model_len = std::min(combined->info.max_model_len, views[i]->info.max_model_len);
    if (!views[i]->info.degraded || combined->info.degraded) continue;
    combined->info.degraded = true;
    combined->info.degraded_reason = views[i]->info.degraded_reason;
  }
  return combined;
}

std::string PromptSession(const std::vector<int32_t>& prompt_ids) {
  const size_t tokens = std::min(prompt_ids.size(), kSessionTokens);
  return std::string(reinterpret_cast<const char*>(prompt_ids.data()), tokens * sizeof(int32_t));
}

}  // namespace hearth::engine
