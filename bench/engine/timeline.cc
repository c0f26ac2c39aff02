#include "bench/engine/timeline.h"

namespace hearth {

const char* Timeline::NameOf(size_t stage) {
  static constexpr const char* kNames[kStages] = {"embed", "mixers, norms", "attention", "dense MLP", "router",
                                                  "plan",  "shared MLP",    "experts",   "combine",   "head"};
  return kNames[stage];
}

Timeline::Timeline(Decoder& decoder, const kernels::Backend& backend) : decoder_(decoder), backend_(backend) {
  decoder.set_stage_observer([this](Decoder::Stage stage) { Record(static_cast<size_t>(stage)); });
}

Timeline::~Timeline() {
  decoder_.set_stage_observer(nullptr);
  for (void* mark : marks_) backend_.streams->release_mark(mark);
}

void Timeline::Record(size_t stage) {
  if (marks_.size() == stage_of_.size()) marks_.push_back(backend_.streams->make_mark());
  backend_.streams->record(backend_.stream, marks_[stage_of_.size()]);
  stage_of_.push_back(stage);
}

void Timeline::BeginStep() {
  stage_of_.clear();
  Record(0);
}

void Timeline::EndStep() {
  backend_.memory->synchronize(backend_.stream);
  for (size_t i = 1; i < stage_of_.size(); ++i) {
    seconds_[stage_of_[i]] += backend_.streams->seconds(marks_[i - 1], marks_[i]);
  }
}

}  // namespace hearth
