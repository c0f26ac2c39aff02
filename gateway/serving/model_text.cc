#include "gateway/serving/model_text.h"

#include <algorithm>

#include "common/log/log.h"
#include "gateway/text/model_tokenizer.h"

namespace hearth::serving {

std::shared_ptr<const ModelText> ModelTextHolder::get() const {
  std::lock_guard lock(mutex_);
  return text_;
}

std::string ModelTextHolder::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

void ModelTextHolder::LoadFrom(const std::string& dir) {
  {
    std::lock_guard lock(mutex_);
    if (dir == tried_dir_) return;
    tried_dir_ = dir;
  }
  Result<text::Tokenizer> tokenizer = text::LoadModelTokenizer(dir);
  std::lock_guard lock(mutex_);
  if (!tokenizer.ok()) {
    text_ = nullptr;
    problem_ = StrCat(tokenizer.status().message(), kAnotherFolder);
    Log(LogLevel::kError, "tokenizer_refused", {{"problem", problem_}});
    return;
  }
  problem_.clear();
  std::vector<int32_t> turn_ids;
  for (const char* token : {"<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"}) {
    if (const auto id = tokenizer->TokenId(token)) turn_ids.push_back(*id);
  }
  std::vector<int32_t> holes;
  size_t longest_token = 1;
  for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    const size_t bytes = tokenizer->TokenBytes(id).size();
    longest_token = std::max(longest_token, bytes);
    if (bytes == 0) holes.push_back(id);
  }
  Log(LogLevel::kInfo, "tokenizer_loaded", {{"dir", dir}, {"vocabulary", tokenizer->vocab_size()}});
  text_ = std::make_shared<ModelText>(
      ModelText{*std::move(tokenizer), dir, longest_token, std::move(holes), std::move(turn_ids)});
}

}  // namespace hearth::serving
