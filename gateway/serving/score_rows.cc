#include "gateway/serving/score_rows.h"

#include "gateway/serving/worker_tries.h"

namespace hearth::serving {

Status CheckScoreEntries(size_t entries, const char* param, const char* help) {
  if (entries <= kMaxScoreEntries) return Status::Ok();
  return InvalidArgument("the response would list ", entries, " log-probabilities, at most ", kMaxScoreEntries, "; ",
                         help)
      .WithParam(param);
}

Result<std::vector<engine::ScoreRow>> ScoreRows(const Services& services, const http::HttpRequest& request,
                                                const engine::ScoreSpec& spec, Deadline deadline) {
  std::vector<engine::ScoreRow> rows;
  bool in_order = true;
  WorkerTries workers(services, request.id, SessionOf(request, "", spec.ids));
  Status status;
  do {
    status = workers.client().Score(spec, deadline, request.client_left, [&](engine::ScoreRow row) {
      in_order = in_order && row.row == spec.first_row + rows.size();
      rows.push_back(std::move(row));
    });
    status = workers.Failure(std::move(status), request.client_left());
    // Before the first row another worker can do it all.
  } while (status.code() == StatusCode::kUnavailable && rows.empty() && workers.Next());
  if (status.code() == StatusCode::kCancelled) {
    services.metrics.cancelled_prefill.Increment();
    if (request.drain_over()) return DrainIsOver();
  }
  if (status.code() == StatusCode::kUnavailable) workers.Hint();
  if (!status.ok()) return status;
  if (!in_order || rows.size() != spec.ids.size() - spec.first_row) {
    return Internal("the worker scored ", rows.size(), " rows, expected ", spec.ids.size() - spec.first_row);
  }
  services.metrics.prompt_tokens.Increment(static_cast<double>(spec.ids.size()));
  return rows;
}

}  // namespace hearth::serving
