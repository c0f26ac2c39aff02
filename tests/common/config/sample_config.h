#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/config/load_config.h"

namespace hearth {

// One option of each kind, for the tests of this folder.
struct SampleConfig {
  std::string model = "models/hearth-tiny";
  std::string mode = "exact";
  unsigned context = 4096;
  bool warm = false;
  double reserve_gb = 1.5;
  std::optional<double> cost_a;
  std::chrono::milliseconds request_timeout = std::chrono::seconds(120);
  std::vector<std::string> names = {"hearth-tiny"};
  std::string api_key;

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    visit(OptionSpec{.flag = "--model", .aliases = {"-m"}, .env = {"GLM53_MODEL_DIR"}, .help = "folder of the model"},
          model);
    visit(OptionSpec{.flag = "--mode", .env = {"GLM53_MODE"}, .help = "which lanes", .allowed = {"fast", "exact"}},
          mode);
    visit(OptionSpec{.flag = "--context-length", .aliases = {"-cs"}, .help = "longest sequence"}, context);
    visit(OptionSpec{.flag = "--warm", .help = "fill the cache first"}, warm);
    visit(OptionSpec{.flag = "--reserve-gb", .env = {"GLM53_EC_RESERVE_GB"}, .help = "GiB kept free"}, reserve_gb);
    visit(OptionSpec{.flag = "--cost-a", .help = "cost per expert | measured"}, cost_a);
    visit(OptionSpec{.flag = "--request-timeout", .help = "longest time of a request"}, request_timeout);
    visit(OptionSpec{.flag = "--served-name", .help = "names of the model"}, names);
    visit(OptionSpec{.flag = "--api-key", .help = "key clients must send", .secret = true}, api_key);
  }
  void Validate(Problems& problems) const {
    problems.Require(context > 0, "context-length", context, "1 or more");
    problems.Require(request_timeout >= std::chrono::seconds(1), "request-timeout", request_timeout, "1s or more");
  }
};

}  // namespace hearth
