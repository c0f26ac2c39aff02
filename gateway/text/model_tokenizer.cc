#include "gateway/text/model_tokenizer.h"

namespace hearth::text {

Result<Tokenizer> LoadModelTokenizer(const std::string& dir) {
  Result<Tokenizer> tokenizer = Tokenizer::Load(dir + "/tokenizer.json");
  if (tokenizer.ok()) return tokenizer;
  return Status(tokenizer.status().code(),
                StrCat("the tokenizer of ", dir, " cannot be used: ", tokenizer.status().message()));
}

Status CheckModelHasIds(const Tokenizer& tokenizer, const std::string& dir, int64_t model_ids) {
  if (tokenizer.vocab_size() <= model_ids) return Status::Ok();
  return FailedPrecondition("the tokenizer of ", dir, " has ", tokenizer.vocab_size(), " ids, the worker's model ",
                            model_ids);
}

}  // namespace hearth::text
