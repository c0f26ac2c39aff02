#include "gateway/text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <utility>

#include "common/base/check.h"
#include "gateway/text/pattern_dialect.h"
#include "gateway/text/utf8.h"

namespace hearth::text {
namespace {

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Freer<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>>;

std::string ErrorText(int code) {
  unsigned char text[256];
  if (pcre2_get_error_message(code, text, sizeof text) < 0) return StrCat("error ", code);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct PreTokenizer::Impl {
  Code code;
  MatchContext patient;  // without the default limits on work and memory

  // Number of captures, PCRE2_ERROR_NOMATCH, or another error.
  int Match(std::string_view text, size_t start, pcre2_match_data* data) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int found = pcre2_match(code.get(), subject, text.size(), start, PCRE2_NO_UTF_CHECK, data, nullptr);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {  // the compiled code ran out of its small stack
      found =
          pcre2_match(code.get(), subject, text.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, patient.get());
    }
    return found;
  }
};

PreTokenizer::PreTokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Result<PreTokenizer> PreTokenizer::Make(const std::string& expression) {
  const std::string pattern = ForPcre2(expression);
  auto impl = std::make_unique<Impl>();
  int error = 0;
  size_t offset = 0;
  impl->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                 &error, &offset, nullptr));
  if (!impl->code) {
    return InvalidArgument("pre_tokenizer Split.pattern is \"", expression,
                           "\", which is not an expression: ", ErrorText(error));
  }
  (void)pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE);  // without it matching is slower, not different
  impl->patient.reset(pcre2_match_context_create(nullptr));
  HEARTH_CHECK(impl->patient, "out of memory");
  pcre2_set_match_limit(impl->patient.get(), UINT32_MAX);
  pcre2_set_depth_limit(impl->patient.get(), UINT32_MAX);
  pcre2_set_heap_limit(impl->patient.get(), UINT32_MAX);
  return PreTokenizer(std::move(impl));
}

std::vector<std::string_view> PreTokenizer::Split(std::string_view text) const {
  std::vector<std::string_view> pieces;
  const MatchData data(pcre2_match_data_create_from_pattern(impl_->code.get(), nullptr));
  HEARTH_CHECK(data, "out of memory");
  const size_t* bounds = pcre2_get_ovector_pointer(data.get());
  size_t done = 0;
  const auto emit_until = [&](size_t end) {
    if (end > done) pieces.push_back(text.substr(done, end - done));
    done = end;
  };
  for (size_t start = 0; start < text.size();) {
    const int found = impl_->Match(text, start, data.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    HEARTH_CHECK(found > 0, ErrorText(found));
    const size_t begin = bounds[0], end = bounds[1];
    if (end <= begin) {  // an empty match cuts nothing
      start = begin < text.size() ? begin + CodePointAt(text, begin).bytes : text.size();
      continue;
    }
    emit_until(begin);
    emit_until(end);
    start = end;
  }
  emit_until(text.size());
  return pieces;
}

}  // namespace hearth::text
