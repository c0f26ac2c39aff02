#include "tests/support/model_runner.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "common/base/check.h"

namespace hearth::testing {

using kernels::Real;

TemporaryHome::TemporaryHome() {
  std::string pattern = std::filesystem::exists("/dev/shm") ? "/dev/shm/hearth-test.XXXXXX" : "/tmp/hearth-test.XXXXXX";
  HEARTH_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot make " + pattern);
  path_ = pattern;
}

TemporaryHome::~TemporaryHome() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ModelRunner::ModelRunner(LoadedModel& model, const kernels::Backend& backend, const Options& options,
                         MoeExecutor* executor)
    : model_(model),
      device_(model, backend),
      direct_(device_.home(), backend),
      store_(model.config, {.slots = options.slots, .pool_tokens = options.pool_tokens, .kv_type = options.kv_type},
             backend),
      options_(options) {
  decoder_ = std::make_unique<Decoder>(model.config, device_.weights(), backend, executor ? *executor : direct_, store_,
                                       Decoder::Limits{.chunk_size = options.chunk_size, .max_batch_rows = 8});
}

std::vector<Real> ModelRunner::Prefill(SequenceStore::Slot slot, std::span<const int32_t> tokens) {
  const int64_t vocab = model_.config.vocab_size;
  std::vector<Real> logits(tokens.size() * vocab);
  HEARTH_CHECK(store_.Reserve(slot, store_.length(slot) + static_cast<int64_t>(tokens.size())),
               "the pool is too small");
  for (size_t begin = 0; begin < tokens.size();) {
    const size_t count = std::min<size_t>(options_.chunk_size, tokens.size() - begin);
    decoder_->BeginChunk(slot, tokens.subspan(begin, count));
    while (!decoder_->chunk_done()) {
      const Status status = decoder_->StepLayer(nullptr);
      HEARTH_CHECK(status.ok(), status.ToString());
    }
    decoder_->ChunkLogits(0, static_cast<int64_t>(count), &logits[begin * vocab]);
    begin += count;
  }
  return logits;
}

std::vector<Real> ModelRunner::Decode(SequenceStore::Slot slot, std::span<const int32_t> tokens) {
  const int64_t vocab = model_.config.vocab_size;
  std::vector<Real> logits(tokens.size() * vocab);
  HEARTH_CHECK(store_.Reserve(slot, store_.length(slot) + static_cast<int64_t>(tokens.size())),
               "the pool is too small");
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Decoder::DecodeRow row{.slot = slot, .token = tokens[i]};
    const Status status = decoder_->Decode({&row, 1}, &logits[i * vocab]);
    HEARTH_CHECK(status.ok(), status.ToString());
  }
  return logits;
}

std::vector<Real> ModelRunner::Run(std::span<const int32_t> tokens, int64_t decode_from) {
  const SequenceStore::Slot slot = store_.Open();
  HEARTH_CHECK(slot >= 0, "no free slot");
  std::vector<Real> logits = Prefill(slot, tokens.first(decode_from));
  const std::vector<Real> decoded = Decode(slot, tokens.subspan(decode_from));
  logits.insert(logits.end(), decoded.begin(), decoded.end());
  store_.Close(slot);
  return logits;
}

void ModelRunner::Record() {
  decoder_->set_tap([this](const std::string& name, const Real* values, int64_t rows, int64_t width) {
    std::vector<Real>& all = recorded_[name];
    all.insert(all.end(), values, values + rows * width);
  });
}

}  // namespace hearth::testing
