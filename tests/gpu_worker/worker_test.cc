#include "gpu_worker/worker.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/startup_error.h"
#include "common/config/load_config.h"
#include "common/rpc/channel.h"

namespace hearth {
namespace {

// The whole process but for main(), with the bundled model.
class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    char pattern[] = "/dev/shm/hearth-worker-test.XXXXXX";
    home_ = mkdtemp(pattern);
    config_.model = HEARTH_SOURCE_DIR "/models/hearth-tiny";
    config_.home_dir = home_;
    config_.grpc_listen = "unix:" + home_ + "/worker.sock";
    config_.metrics_port = 0;
    config_.cpu_tier = "";
    config_.sequences = 4;
  }
  ~WorkerTest() override { std::filesystem::remove_all(home_); }

  std::unique_ptr<v1::Engine::Stub> Stub() { return v1::Engine::NewStub(MakeChannel(config_.grpc_listen)); }

  static std::vector<int32_t> Generate(v1::Engine::Stub& stub, const std::vector<int32_t>& prompt, size_t max_tokens) {
    v1::GenerateRequest request;
    for (int32_t id : prompt) request.add_prompt_ids(id);
    request.set_max_tokens(static_cast<uint32_t>(max_tokens));
    request.mutable_sampling()->set_temperature(0);
    grpc::ClientContext context;
    auto stream = stub.Generate(&context, request);
    std::vector<int32_t> tokens;
    v1::GenerateResponse message;
    while (stream->Read(&message)) {
      for (const auto& token : message.tokens().tokens()) tokens.push_back(token.id());
      if (message.finished().has_stop_id()) tokens.push_back(message.finished().stop_id());
    }
    EXPECT_TRUE(stream->Finish().ok());
    return tokens;
  }

  std::string home_;
  WorkerConfig config_;
  StopSignal stop_;
};

TEST_F(WorkerTest, AnswersPanelItemsGreedilyAndAdoptsItsHome) {
  std::ifstream file(HEARTH_SOURCE_DIR "/reference/hearth-tiny-panel.json");
  const auto panel = nlohmann::json::parse(file);
  for (const bool adopted : {false, true}) {
    Worker worker(config_, DescribeConfig(config_), stop_);
    const auto stub = Stub();
    v1::ModelInfo info;
    grpc::ClientContext context;
    ASSERT_TRUE(stub->GetModelInfo(&context, {}, &info).ok());
    EXPECT_EQ(info.state(), v1::WORKER_STATE_READY);
    EXPECT_EQ(info.load().adopted(), adopted);
    EXPECT_EQ(info.vocab_size(), 4096u);
    EXPECT_EQ(info.max_model_len(), 8192u);
    EXPECT_EQ(info.flags().at("max-sequences"), "4");
    int compared = 0;
    for (const auto& item : panel) {
      if (item["name"] != "hello" && item["name"] != "arith" && item["name"] != "weather-tool") continue;
      const std::vector<int32_t> tokens = item["tokens"], expected = item["greedy"];
      const std::vector<int32_t> prompt(tokens.begin(), tokens.begin() + item["prompt_len"].get<int>());
      EXPECT_EQ(Generate(*stub, prompt, expected.size()), expected) << item["name"];
      ++compared;
    }
    EXPECT_EQ(compared, 3);
  }
}

TEST_F(WorkerTest, SyntheticModelGeneratesAndSaysWhatItIs) {
  config_.model = "synthetic:" HEARTH_SOURCE_DIR "/tools/synthetic/small_shape.json";
  Worker worker(config_, DescribeConfig(config_), stop_);
  const auto stub = Stub();
  v1::ModelInfo info;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->GetModelInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.model_dir(), config_.model);
  EXPECT_NE(info.flags().at("weights").find("synthetic"), std::string::npos);
  const std::vector<int32_t> tokens = Generate(*stub, {5, 6, 7, 8}, 8);
  EXPECT_FALSE(tokens.empty());
  EXPECT_EQ(Generate(*stub, {5, 6, 7, 8}, 8), tokens);
}

TEST_F(WorkerTest, RefusesInOneLineAndLeavesNothing) {
  const auto refusal = [&](WorkerConfig config) -> std::string {
    try {
      Worker worker(config, {}, stop_);
    } catch (const StartupError& error) {
      return error.what();
    }
    return "";
  };
  WorkerConfig config = config_;
  config.model = home_ + "/nothing-here";
  EXPECT_NE(refusal(config).find("nothing-here"), std::string::npos);

  config = config_;
  config.model = "synthetic:" + home_ + "/shape.json";
  EXPECT_NE(refusal(config).find("shape.json: does not exist"), std::string::npos);

  config = config_;
  config.vram_gb = 0.01;
  const std::string sum = refusal(config);
  EXPECT_NE(sum.find("--vram-gb"), std::string::npos) << sum;
  EXPECT_EQ(sum.find('\n'), std::string::npos);

  config = config_;
  config.device = "cuda";
  EXPECT_NE(refusal(config).find("--device"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(home_));
}

}  // namespace
}  // namespace hearth
