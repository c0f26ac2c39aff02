#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/worker_client/worker_view.h"

namespace hearth::engine {

// Decisions about several workers. Plain functions; all lists are in the order of --worker.

using WorkerViews = std::vector<std::shared_ptr<const WorkerView>>;

// Which workers may get requests: those that are ready and hold the model (by its fingerprint) of the first ready one.
std::vector<bool> ServingWorkers(const WorkerViews& views);

// Rendezvous hashing: a session stays with its worker as long as that one may be used, and a worker that goes away
// hands its sessions to all others alike. Nothing when no worker may be used.
std::optional<size_t> PickWorker(std::string_view session, const std::vector<std::string>& targets,
                                 const std::vector<bool>& usable);

// One view for all: that of the first worker that serves, with the least context of those that do; when none serves,
// that of the one nearest to it (loading, then draining, down). `views` is not empty.
std::shared_ptr<const WorkerView> CombinedView(const WorkerViews& views);

// What requests of one conversation share when they name nothing: the first 256 tokens of the prompt.
std::string PromptSession(const std::vector<int32_t>& prompt_ids);

}  // namespace hearth::engine
