#include "gateway/page/page.h"

#include <regex>

#include "tests/gateway/running_gateway.h"

namespace hearth::test {
namespace {

class Page : public RunningGateway {};

TEST_F(Page, IsServedUnderAPolicyThatAllowsOnlyItself) {
  Start();
  const HttpReply reply = Get("/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.body, page::PageText());
  EXPECT_TRUE(reply.body.starts_with("<!doctype html>"));
  EXPECT_TRUE(reply.body.ends_with("</html>\n"));

  const std::string policy = reply.headers.at("content-security-policy");
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("connect-src 'self'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(std::regex_replace(policy, std::regex("'sha256-[A-Za-z0-9+/]{43}='"), "HASH"),
            "default-src 'none'; script-src HASH; style-src HASH; connect-src 'self'; img-src data:; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'");
}

TEST_F(Page, NamesNothingOutside) {
  const std::string& text = page::PageText();
  EXPECT_EQ(text.find("://"), std::string::npos);
  const std::regex source(R"((src|href|action)\s*=\s*"([^"]*)\")");
  for (std::sregex_iterator at(text.begin(), text.end(), source), end; at != end; ++at) {
    EXPECT_EQ((*at)[2], "data:,") << (*at)[0];
  }
  EXPECT_EQ(text.find("@import"), std::string::npos);
  EXPECT_EQ(text.find("url("), std::string::npos);
  // The policy refuses what stands outside the one script and the one style.
  const std::regex element("<script|<style");
  EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), element), std::sregex_iterator()), 2);
  EXPECT_FALSE(std::regex_search(text, std::regex(R"(<[^>]*\s(style|on[a-z]+)=)")));
}

TEST_F(Page, NeedsNoKeyAndWhatItAsksForDoes) {
  config_.api_key = {"s3cret"};
  config_.open_status = false;
  Start([](const HttpReply& health) { return health.status == 401; });
  EXPECT_EQ(Get("/").status, 200);
  for (const char* path : {"/stats", "/metrics", "/health", "/v1/models"}) EXPECT_EQ(Get(path).status, 401) << path;
  EXPECT_EQ(Fetch(port(), "POST", "/").status, 405);
  EXPECT_EQ(Fetch(port(), "GET", "/metrics", {}, {"Authorization: Bearer s3cret"}).status, 200);
}

}  // namespace
}  // namespace hearth::test
