#include "gateway/serving/score_rows.h"

namespace hearth::serving {

Result<std::vector<engine::ScoreRow>> ScoreRows(const Services& services, const http::HttpRequest& request,
                                                const engine::ScoreSpec& spec) {
  std::vector<engine::ScoreRow> rows;
  bool in_order = true;
  const size_t worker = services.workers.Pick(SessionOf(request, "", spec.ids)).value_or(0);
  Status status = services.workers.client(worker).Score(
      spec, Deadline::After(services.request_timeout), request.client_left, [&](engine::ScoreRow row) {
        in_order = in_order && row.row == spec.first_row + rows.size();
        rows.push_back(std::move(row));
      });
  // A worker that goes down cancels what it does.
  if (status.code() == StatusCode::kCancelled && !request.client_left()) status = Unavailable("it ended the scoring");
  if (status.code() == StatusCode::kCancelled) services.metrics.cancelled_prefill.Increment();
  if (status.code() == StatusCode::kUnavailable) {
    services.workers.Hint(worker);
    return Unavailable("the worker is not available: ", status.message());
  }
  if (status.code() == StatusCode::kDeadlineExceeded) return TookTooLong(services);
  if (!status.ok()) return status;
  if (!in_order || rows.size() != spec.ids.size() - spec.first_row) {
    return Internal("the worker scored ", rows.size(), " rows, expected ", spec.ids.size() - spec.first_row);
  }
  services.metrics.prompt_tokens.Increment(static_cast<double>(spec.ids.size()));
  return rows;
}

}  // namespace hearth::serving
