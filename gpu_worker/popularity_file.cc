#include "gpu_worker/popularity_file.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/base/startup_error.h"
#include "common/log/log.h"
#include "gpu_worker/loader/json_text.h"
#include "gpu_worker/loader/small_file.h"

namespace hearth {
namespace {

constexpr char kFormat[] = "hearth-expert-popularity";
constexpr int kVersion = 1;
constexpr uint64_t kMostBytes = 64 << 20;

// The record in `json`; the problem, or "".
std::string Take(const Json& json, Popularity& popularity) {
  if (!json.is_object() || json.value("format", Json()) != kFormat) return "is no record of expert popularity";
  if (json.value("version", Json()) != kVersion) {
    return StrCat("has version ", ShowJson(json.value("version", Json())), ", this build knows ", kVersion);
  }
  if (json.value("layers", Json()) != popularity.layers || json.value("experts", Json()) != popularity.experts) {
    return StrCat("is of a model with ", ShowJson(json.value("layers", Json())), " layers of ",
                  ShowJson(json.value("experts", Json())), " experts, this one has ", popularity.layers, " of ",
                  popularity.experts);
  }
  const auto number = [](const Json& value) { return value.is_number() && value >= 0 && value <= 1e15; };
  const Json tokens = json.value("tokens", Json()), rows = json.value("picks_per_token", Json());
  if (!number(tokens)) return "has no usable \"tokens\"";
  if (!rows.is_array() || rows.size() != popularity.layers) return "has no \"picks_per_token\" for every layer";
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != popularity.experts) return "has no \"picks_per_token\" for every expert";
    for (const Json& value : row) {
      if (!number(value)) return StrCat("has ", ShowJson(value), " picks a token");
      popularity.picks.push_back(value.get<double>());
    }
  }
  popularity.tokens = tokens.get<double>();
  return "";
}

std::string Text(const Popularity& p) {
  std::string text =
      StrCat("{\"format\": \"", kFormat, "\", \"version\": ", kVersion, ", \"layers\": ", p.layers,
             ", \"experts\": ", p.experts, ", \"tokens\": ", std::llround(p.tokens), ",\n\"picks_per_token\": [");
  for (size_t i = 0; i < p.picks.size(); ++i) {
    const bool first = i % p.experts == 0;
    char number[32];
    std::snprintf(number, sizeof number, "%.4g", p.picks[i]);
    text += StrCat(first ? (i == 0 ? "\n[" : "],\n[") : ", ", number);
  }
  return text + (p.picks.empty() ? "]}\n" : "]\n]}\n");
}

}  // namespace

PopularityFile::PopularityFile(const std::string& option, const std::string& model, bool synthetic, uint32_t layers,
                               uint32_t experts) {
  if (option == "none" || (option.empty() && synthetic)) return;
  path_ = option.empty() ? (std::filesystem::path(model) / "hearth-popularity.json").string() : option;
  std::string problem;
  try {
    const std::optional<std::string> text = ReadSmallFile(path_, kMostBytes);
    if (!text) return;
    const Result<Json> json = ParseJson(*text, "text");
    Popularity read{.layers = layers, .experts = experts};
    problem = json.ok() ? Take(*json, read) : json.status().message();
    if (problem.empty()) earlier_ = std::move(read);
  } catch (const StartupError& error) {
    problem = error.what();
  }
  if (problem.empty()) return;
  Log(LogLevel::kWarning, "popularity",
      {{"file", path_},
       {"problem", problem},
       {"text",
        "the expert cache starts empty and nothing is recorded; remove the file, or name another with --popularity"}});
  path_.clear();
}

void PopularityFile::Save(const Popularity& seen) {
  if (path_.empty() || seen.tokens <= saved_tokens_) return;
  const std::string fresh = StrCat(path_, ".", ::getpid());
  std::ofstream file(fresh, std::ios::trunc);
  file << Text(Blend(earlier_, seen));
  file.close();
  if (file.fail() || std::rename(fresh.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    std::remove(fresh.c_str());
    Log(LogLevel::kWarning, "popularity",
        {{"file", path_},
         {"problem", std::strerror(error)},
         {"text", "not recorded; --popularity FILE names a place that can be written, none turns it off"}});
    path_.clear();
    return;
  }
  saved_tokens_ = seen.tokens;
}

}  // namespace hearth
