#include "gateway/openai/shared_fields.h"

#include <charconv>
#include <limits>

namespace hearth::openai {
namespace {

std::optional<float> Narrow(std::optional<double> value) {
  if (!value) return {};
  const float narrow = static_cast<float>(*value);
  // What is above 0 stays above it.
  return narrow == 0 && *value > 0 ? std::numeric_limits<float>::min() : narrow;
}

void ReadBiases(FieldReader& fields, engine::SamplingParams& sampling) {
  const OrderedJson* biases = fields.Object("logit_bias");
  if (biases == nullptr) return;
  if (biases->size() > kMaxBiases) {
    fields.Fail("logit_bias", StrCat("has ", biases->size(), " entries, at most ", kMaxBiases));
    return;
  }
  for (const auto& [key, value] : biases->items()) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || key[0] == '-' || (key[0] == '0' && key.size() > 1)) {
      fields.Fail("logit_bias", StrCat("names ", Shown(key), ", expected token ids"));
      return;
    }
    const double bias = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(bias >= -100 && bias <= 100)) {
      fields.Fail("logit_bias",
                  StrCat("gives ", Shown(value), " to token ", id, ", expected a number from -100 to 100"));
      return;
    }
    sampling.logit_bias[id] = static_cast<float>(bias);
  }
}

}  // namespace

engine::SamplingParams ReadSampling(FieldReader& fields) {
  engine::SamplingParams sampling;
  sampling.temperature = Narrow(fields.Number("temperature", 0, 2));
  sampling.top_p = Narrow(fields.Number("top_p", 0, 1, /*above_low=*/true));
  sampling.min_p = Narrow(fields.Number("min_p", 0, 1));
  if (const auto top_k = fields.Integer("top_k", -1, std::numeric_limits<int32_t>::max())) {
    sampling.top_k = static_cast<int32_t>(*top_k);
  }
  sampling.repetition_penalty = Narrow(fields.Number("repetition_penalty", kLeastRepetitionPenalty, 2));
  sampling.presence_penalty = Narrow(fields.Number("presence_penalty", -2, 2));
  sampling.frequency_penalty = Narrow(fields.Number("frequency_penalty", -2, 2));
  if (const OrderedJson* seed = fields.Get("seed"); seed != nullptr) {
    if (seed->is_number_integer()) {
      sampling.seed = seed->get<uint64_t>();
    } else if (const auto whole = WholeNumber(*seed)) {
      sampling.seed = static_cast<uint64_t>(*whole);
    } else {
      fields.Fail("seed", StrCat("is ", Shown(*seed), ", expected a whole number of at most 64 bits"));
    }
  }
  ReadBiases(fields, sampling);
  return sampling;
}

std::vector<std::string> ReadStops(FieldReader& fields, size_t most) {
  const OrderedJson* value = fields.Get("stop");
  if (value == nullptr) return {};
  const OrderedJson list = value->is_array() ? *value : OrderedJson::array({*value});
  if (list.size() > most) {
    fields.Fail("stop", StrCat("has ", list.size(), " strings, at most ", most));
    return {};
  }
  std::vector<std::string> stops;
  for (const OrderedJson& stop : list) {
    if (!stop.is_string() || stop.get_ref<const std::string&>().empty() ||
        stop.get_ref<const std::string&>().size() > kMaxStopBytes) {
      fields.Fail("stop", StrCat("holds ", Shown(stop), ", expected strings of 1 to ", kMaxStopBytes, " bytes"));
      return {};
    }
    stops.push_back(stop.get<std::string>());
  }
  return stops;
}

std::string ReadModel(FieldReader& fields) {
  const std::optional<std::string> name = fields.String("model");
  if (name && name->empty()) fields.Fail("model", "is empty, expected a name that /v1/models lists");
  return name.value_or("");
}

std::string ReadSession(FieldReader& fields) {
  const std::optional<std::string> user = fields.String("user");
  return fields.String("prompt_cache_key").value_or(user.value_or(""));
}

StreamFields ReadStream(FieldReader& fields) {
  StreamFields read;
  read.stream = fields.Bool("stream").value_or(false);
  const OrderedJson* options = fields.Object("stream_options");
  if (options == nullptr) return read;
  if (!read.stream) {
    fields.Fail("stream_options", "needs stream to be true");
    return read;
  }
  FieldReader inner(*options, "stream_options.");
  read.include_usage = inner.Bool("include_usage").value_or(false);
  if (inner.Bool("include_obfuscation").value_or(false)) {
    inner.Fail("include_obfuscation", "must be false: nothing is added to the stream");
  }
  for (const auto& [name, unused] : options->items()) {
    if (name != "include_usage" && name != "include_obfuscation") inner.Fail(name, "is not known here");
  }
  if (!inner.ok()) fields.Fail(inner.status());
  return read;
}

std::optional<uint64_t> ChoiceSeed(std::optional<uint64_t> seed, size_t index) {
  if (!seed) return {};
  return *seed + index;
}

}  // namespace hearth::openai
