#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "common/log/log.h"
#include "gateway/gateway.h"
#include "gateway/text/tokenizer.h"
#include "tests/support/fake_worker.h"
#include "tests/support/http_probe.h"

namespace hearth::test {

using Json = nlohmann::ordered_json;

inline const std::string kModelDir = std::string(HEARTH_SOURCE_DIR) + "/models/hearth-tiny";

inline const text::Tokenizer& TinyTokenizer() {
  static const text::Tokenizer tokenizer = *text::Tokenizer::Load(kModelDir + "/tokenizer.json");
  return tokenizer;
}

// True once the condition holds; false after 10 s.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// A gateway in this process that talks to a fake worker by real gRPC.
class RunningGateway : public ::testing::Test {
 protected:
  RunningGateway() {
    SetLogLevel(LogLevel::kError);
    config_.port = 0;
  }

  // Returns once /health is as wanted.
  void Start(const std::function<bool(const HttpReply&)>& up = [](const HttpReply& r) { return r.status == 200; }) {
    if (!worker_) {
      worker_ =
          std::make_unique<FakeWorker>([this](const engine::GenerateSpec& spec) { return director_(spec); }, kModelDir);
    }
    config_.worker = {worker_->address()};
    gateway_ = std::make_unique<Gateway>(config_);
    ASSERT_TRUE(Eventually([&] { return up(Get("/health")); }));
  }

  HttpReply Get(const std::string& path) { return Fetch(gateway_->port(), "GET", path); }
  HttpReply Post(const std::string& path, const std::string& body) {
    return Fetch(gateway_->port(), "POST", path, body);
  }
  HttpReply Post(const std::string& path, const char* body) { return Post(path, std::string(body)); }
  HttpReply Post(const std::string& path, const Json& body) { return Post(path, body.dump()); }
  int port() const { return gateway_->port(); }

  // Answers `text` in one token a message, ended by a stop id.
  static Script Saying(const std::string& text) {
    Script script;
    for (const int32_t id : TinyTokenizer().Encode(text)) script.chunks.push_back({id});
    script.stop_id = 4067;
    return script;
  }

  static Json Chat(const std::string& user) {
    return {{"model", "hearth-tiny"}, {"messages", Json::array({{{"role", "user"}, {"content", user}}})}};
  }

  GatewayConfig config_;
  FakeWorker::Director director_ = [](const engine::GenerateSpec&) { return Saying("thought</think>Hello there!"); };
  std::unique_ptr<FakeWorker> worker_;
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace hearth::test
