#pragma once

#include "gateway/worker_client/engine_types.h"
#include "hearth/v1/engine.pb.h"

namespace hearth::engine {

namespace pb = ::hearth::v1;

pb::GenerateRequest ToProto(const GenerateSpec& spec);
pb::ScoreRequest ToProto(const ScoreSpec& spec);
// A message without an event is a broken peer: kInternal in Failed.
decltype(Event::what) FromProto(pb::GenerateResponse&& message);
ScoreRow FromProto(const pb::ScoreRow& row);
ModelInfo FromProto(const pb::ModelInfo& info);
EngineStats FromProto(const pb::EngineStats& stats);

}  // namespace hearth::engine
