#include "gateway/page/page.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <string_view>

#include "common/base/check.h"
#include "common/base/status.h"

namespace hearth::page {
namespace {

constexpr char kText[] = {
#include "page_text.inc"
};

// What stands between <TAG> and </TAG>, which each occur once.
std::string_view Element(std::string_view text, const std::string& tag) {
  const size_t begin = text.find("<" + tag + ">");
  const size_t end = text.find("</" + tag + ">");
  HEARTH_CHECK(begin != std::string_view::npos && end != std::string_view::npos && begin < end, tag);
  const size_t inside = begin + tag.size() + 2;
  return text.substr(inside, end - inside);
}

// A source expression of a content security policy.
std::string HashSource(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  unsigned char base64[4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1];
  EVP_EncodeBlock(base64, digest, SHA256_DIGEST_LENGTH);
  return StrCat("'sha256-", reinterpret_cast<const char*>(base64), "'");
}

}  // namespace

const std::string& PageText() {
  static const std::string text(kText, sizeof kText);
  return text;
}

const std::string& PageSecurityPolicy() {
  static const std::string policy =
      StrCat("default-src 'none'; script-src ", HashSource(Element(PageText(), "script")), "; style-src ",
             HashSource(Element(PageText(), "style")),
             "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  return policy;
}

http::HttpResponse HandlePage(const http::HttpRequest&) {
  http::HttpResponse response{.content_type = "text/html; charset=utf-8", .body = PageText()};
  response.headers = {{"Content-Security-Policy", PageSecurityPolicy()},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

}  // namespace hearth::page
