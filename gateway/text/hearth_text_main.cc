// hearth-text --model DIR render|parse|tokenize|detokenize: the gateway's text code on the command line. Reads one JSON
// object per line from stdin and writes one per line.
#include <iostream>
#include <optional>
#include <string>

#include "gateway/text/hearth_text.h"

namespace {

constexpr int kUsageError = 2;

int Fail(const std::string& what) {
  std::cerr << "hearth-text: " << what << "\n";
  return kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hearth::text;
  const std::string usage = "usage: hearth-text --model DIR render|parse|tokenize|detokenize";
  std::string model;
  std::optional<TextJob> job;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::cout << usage << "\n";
      return 0;
    }
    if (argument == "--model" && i + 1 < argc) {
      model = argv[++i];
    } else if (!job && (job = TextJobNamed(argument))) {
      continue;
    } else {
      return Fail("unexpected argument \"" + argument + "\"; " + usage);
    }
  }
  if (!job || model.empty()) return Fail(usage);
  std::optional<Tokenizer> tokenizer;
  if (NeedsTokenizer(*job)) {
    auto loaded = Tokenizer::Load(model + "/tokenizer.json");
    if (!loaded.ok()) return Fail(loaded.status().message());
    tokenizer.emplace(*std::move(loaded));
  }
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << AnswerLine(*job, tokenizer ? &*tokenizer : nullptr, line) << "\n" << std::flush;
  }
  return std::cout.good() ? 0 : 1;
}
