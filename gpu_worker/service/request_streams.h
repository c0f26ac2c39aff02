#pragma once

#include <cstdint>

#include "gpu_worker/service/output_reactor.h"
#include "hearth/v1/engine.pb.h"

namespace hearth {

// Generate: accepted, tokens, finished. Tokens that came while a write was under way share a message.
class GenerateReactor final : public OutputReactor<v1::GenerateResponse> {
 public:
  explicit GenerateReactor(std::function<bool()> deterministic = {}) : deterministic_(std::move(deterministic)) {}

 private:
  bool WriteFirst(const Generation& generation, v1::GenerateResponse& response) override;
  bool Add(Output output, v1::GenerateResponse& response) override;
  bool WriteLast(const Generation& generation, const Outcome& outcome, v1::GenerateResponse& response) override;

  std::function<bool()> deterministic_;
};

// Score: blocks of at most 1,024 rows.
class ScoreReactor final : public OutputReactor<v1::ScoreResponse> {
  bool WriteFirst(const Generation&, v1::ScoreResponse&) override { return false; }
  bool Add(Output output, v1::ScoreResponse& response) override;
  bool WriteLast(const Generation&, const Outcome&, v1::ScoreResponse&) override { return false; }
};

}  // namespace hearth
