#pragma once

#include "gpu_worker/scheduler/request.h"

namespace hearth::v1 {
class Finished;
class LaneCounts;
class SamplingParams;
class ScoreRow;
class Token;
}  // namespace hearth::v1

namespace hearth {

void ToProto(const TokenOutput& token, v1::Token* out);
void ToProto(const ScoreRowOutput& row, v1::ScoreRow* out);
void ToProto(const LanePicks& picks, v1::LaneCounts* out);
void ToProto(const SamplingParams& params, v1::SamplingParams* out);
// Of a successful generation.
void ToProto(const Outcome& outcome, const GenerateSpec& spec, bool deterministic, v1::Finished* out);

}  // namespace hearth
