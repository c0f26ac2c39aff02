#include "gpu_worker/synthetic/synthetic_settings.h"

#include <limits>

#include "gpu_worker/loader/config_reader.h"

namespace hearth {
namespace {

constexpr const char* kKeys[] = {"seed",       "expert_bits", "attention_bits", "shared_bits",
                                 "dense_bits", "head_bits",   "router_zipf",    "expert_gain"};

bool IsKnown(const std::string& key) {
  for (const char* known : kKeys) {
    if (key == known) return true;
  }
  return false;
}

}  // namespace

Result<SyntheticSettings> ParseSyntheticSettings(const std::string& config_text) {
  const Result<Json> top = ParseJson(config_text, "config");
  if (!top.ok()) return top.status();
  const auto found = top->is_object() ? top->find(kSyntheticKey) : top->end();
  if (found == top->end() || !found->is_object()) {
    return InvalidArgument("config: ", kSyntheticKey, " is missing, expected an object such as {\"seed\": 1}");
  }
  ConfigReader read(*found, StrCat("config: ", kSyntheticKey));
  for (const auto& [key, value] : found->items()) {
    if (!IsKnown(key)) read.Complain(ShowJson(key), " is unknown");
  }
  SyntheticSettings out;
  const auto bits = [&](const char* key, int missing) { return static_cast<int>(read.Int(key, 1, 8, missing)); };
  out.seed = static_cast<uint64_t>(read.Int("seed", 0, std::numeric_limits<int64_t>::max(), 1));
  out.expert_bits = bits("expert_bits", out.expert_bits);
  out.attention_bits = bits("attention_bits", out.attention_bits);
  out.shared_bits = bits("shared_bits", out.shared_bits);
  out.dense_bits = bits("dense_bits", out.dense_bits);
  out.head_bits = bits("head_bits", out.head_bits);
  const double below_zero = -std::numeric_limits<double>::min();
  out.router_zipf = read.Number("router_zipf", below_zero, 3, out.router_zipf);
  out.expert_gain = read.Number("expert_gain", 0, 10, out.expert_gain);
  if (!read.status().ok()) return read.status();
  return out;
}

}  // namespace hearth
