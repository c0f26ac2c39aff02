#include "gateway/sglang/logprob_lists.h"

#include <algorithm>
#include <cstdio>

namespace hearth::sglang {

using OrderedJson = nlohmann::ordered_json;

OrderedJson LogprobTriple(float logprob, int32_t id) { return OrderedJson::array({logprob, id, nullptr}); }

OrderedJson LogprobTriples(const std::vector<engine::TokenLogprob>& list, size_t most) {
  OrderedJson triples = OrderedJson::array();
  for (size_t i = 0; i < std::min(list.size(), most); ++i)
    triples.push_back(LogprobTriple(list[i].logprob, list[i].id));
  return triples;
}

std::string HashText(uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

void AddScoreLists(const ScoreShape& shape, const std::vector<int32_t>& ids, const std::vector<engine::ScoreRow>& rows,
                   OrderedJson& meta) {
  const engine::ScoreRow& last = rows.back();
  if (shape.hashes) {
    OrderedJson hashes = OrderedJson::array();
    for (const engine::ScoreRow& row : rows) hashes.push_back(HashText(row.logits_hash.value_or(0)));
    meta["input_logits_hash"] = std::move(hashes);
  }
  if (!shape.logprobs) return;
  OrderedJson tokens = OrderedJson::array(), top = OrderedJson::array(), chosen = OrderedJson::array();
  if (shape.start == 0) {  // nothing predicts the first token
    tokens.push_back(OrderedJson::array({nullptr, ids[0], nullptr}));
    top.push_back(nullptr);
    chosen.push_back(nullptr);
  }
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    const engine::ScoreRow& row = rows[i];
    const int32_t next = ids[row.row + 1];
    tokens.push_back(row.next_logprob ? LogprobTriple(*row.next_logprob, next)
                                      : OrderedJson::array({nullptr, next, nullptr}));
    top.push_back(LogprobTriples(row.top, shape.top));
    chosen.push_back(LogprobTriples(row.chosen, row.chosen.size()));
  }
  meta["input_token_logprobs"] = std::move(tokens);
  meta["output_token_logprobs"] = LogprobTriples(last.top, 1);
  if (shape.top > 0) {
    meta["input_top_logprobs"] = std::move(top);
    meta["output_top_logprobs"] = OrderedJson::array({LogprobTriples(last.top, shape.top)});
  }
  if (shape.chosen) {
    meta["input_token_ids_logprobs"] = std::move(chosen);
    meta["output_token_ids_logprobs"] = OrderedJson::array({LogprobTriples(last.chosen, last.chosen.size())});
  }
}

}  // namespace hearth::sglang
