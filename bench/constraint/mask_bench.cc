// How long the worker takes for a token mask inside a JSON string.
//   mask_bench TOKENIZER_JSON VOCAB_SIZE | mask_bench --synthetic ENTRIES
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "gpu_worker/constraint/constraint_program.h"
#include "tests/common/automaton/sample_automata.h"

namespace hearth {
namespace {

double Microseconds(auto&& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

// All single bytes, then words of syllables with and without a blank, numbers, and pieces of wider characters.
VocabularyBytes Synthetic(size_t entries) {
  std::set<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.insert(std::string(1, static_cast<char>(byte)));
  uint64_t state = 1;
  const auto pick = [&](size_t count) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % count;
  };
  constexpr std::string_view kHeads = "bcdfghjklmnprstvwz", kVowels = "aeiouy";
  while (texts.size() < entries) {
    std::string text;
    if (pick(2) == 0) text = " ";
    if (pick(6) == 0) {
      for (size_t n = pick(4) + 1; n > 0; --n) {
        text += static_cast<char>(0xE3 + pick(6));
        text += static_cast<char>(0x80 + pick(64));
        text += static_cast<char>(0x80 + pick(64));
      }
    } else {
      for (size_t n = pick(4) + 1; n > 0; --n) {
        text += kHeads[pick(kHeads.size())];
        text += kVowels[pick(kVowels.size())];
        if (pick(3) == 0) text += kHeads[pick(kHeads.size())];
      }
    }
    texts.insert(std::move(text));
  }
  return {.ordinary = {texts.begin(), texts.end()}, .added = {}};
}

Automaton String() {
  Automaton automaton = OneRule();
  const int32_t inside = automaton.AddState();
  automaton.AddBytes(0, '"', '"', inside);
  AddStringCharacters(automaton, inside);
  automaton.AddBytes(inside, '"', '"', automaton.AddState(true));
  return automaton;
}

void Measure(const char* name, const Automaton& automaton, const char* before,
             const std::shared_ptr<const ConstraintVocabulary>& vocabulary) {
  constexpr int kRuns = 31;
  std::vector<double> first, again, cached;
  size_t allowed = 0;
  for (int run = 0; run < kRuns; ++run) {
    ConstraintProgram program(automaton, vocabulary, {});
    AutomatonWalker walker = program.Start();
    walker.AdvanceText(before);
    TokenMasker masker(vocabulary);
    TokenMask mask;
    first.push_back(Microseconds([&] { (void)masker.Fill(walker, mask).ok(); }));
    again.push_back(Microseconds([&] { (void)masker.Fill(walker, mask).ok(); }));
    (void)program.MaskFor(walker).ok();
    cached.push_back(Microseconds([&] { (void)program.MaskFor(walker).ok(); }));
    allowed = 0;
    for (uint64_t word : mask.bits) allowed += static_cast<size_t>(__builtin_popcountll(word));
  }
  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + kRuns / 2, v.end());
    return v[kRuns / 2];
  };
  std::printf("%-12s %zu allowed; first %.1f us, steps known %.1f us, mask known %.2f us\n", name, allowed,
              median(first), median(again), median(cached));
}

int Run(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "mask_bench TOKENIZER_JSON VOCAB_SIZE | mask_bench --synthetic ENTRIES\n");
    return 2;
  }
  const int32_t size = std::atoi(argv[2]);
  VocabularyBytes bytes;
  if (std::string_view(argv[1]) == "--synthetic") {
    bytes = Synthetic(static_cast<size_t>(size));
  } else {
    std::string path = argv[1];
    Result<VocabularyBytes> read = InvalidArgument("");
    const double time = Microseconds([&] { read = VocabularyBytes::Read(path.substr(0, path.rfind('/')), size); });
    if (!read.ok()) {
      std::fprintf(stderr, "%s\n", read.status().ToString().c_str());
      return 1;
    }
    std::printf("reading the vocabulary: %.0f ms\n", time / 1000);
    bytes = *std::move(read);
  }
  std::shared_ptr<const ConstraintVocabulary> vocabulary;
  const double time =
      Microseconds([&] { vocabulary = std::make_shared<const ConstraintVocabulary>(std::move(bytes)); });
  std::printf("building the trie: %.0f ms, %zu nodes\n", time / 1000, vocabulary->trie.nodes().size());
  Measure("string", String(), "\"ab", vocabulary);
  Measure("nested", JsonValue(), "{\"a\":[[{\"b\":\"", vocabulary);
  Measure("value", JsonValue(), "[", vocabulary);
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) { return hearth::Run(argc, argv); }
