// Constraints through the whole process, with the bundled model.
#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <regex>

#include "common/config/load_config.h"
#include "common/rpc/channel.h"
#include "gpu_worker/worker.h"
#include "tests/common/automaton/sample_automata.h"
#include "tests/gpu_worker/constraint/tiny_vocabulary.h"

namespace hearth {
namespace {

class ConstrainedWorkerTest : public testing::Test {
 protected:
  ConstrainedWorkerTest() {
    char pattern[] = "/dev/shm/hearth-worker-test.XXXXXX";
    home_ = mkdtemp(pattern);
    config_.model = HEARTH_SOURCE_DIR "/models/hearth-tiny";
    config_.home_dir = home_;
    config_.grpc_listen = "unix:" + home_ + "/worker.sock";
    config_.metrics_port = 0;
    config_.cpu_tier = "";
    config_.sequences = 4;
  }
  ~ConstrainedWorkerTest() override { std::filesystem::remove_all(home_); }

  struct Answer {
    std::string text;
    v1::Finished finished;
    grpc::Status status;
  };
  static Answer Generate(v1::Engine::Stub& stub, const Automaton& automaton, uint64_t seed, uint32_t max_tokens) {
    v1::GenerateRequest request;
    for (int32_t id : {100, 200, 300}) request.add_prompt_ids(id);
    request.set_max_tokens(max_tokens);
    request.mutable_sampling()->set_temperature(1);
    request.mutable_sampling()->set_seed(seed);
    request.mutable_constraint()->set_automaton(automaton.Serialize());
    grpc::ClientContext context;
    auto stream = stub.Generate(&context, request);
    Answer answer;
    std::vector<int32_t> tokens;
    v1::GenerateResponse message;
    while (stream->Read(&message)) {
      for (const auto& token : message.tokens().tokens()) tokens.push_back(token.id());
      if (message.has_finished()) answer.finished = message.finished();
    }
    answer.status = stream->Finish();
    answer.text = TinyText(tokens);
    return answer;
  }

  std::string home_;
  WorkerConfig config_;
  StopSignal stop_;
};

TEST_F(ConstrainedWorkerTest, StaysInTheLanguage) {
  Worker worker(config_, DescribeConfig(config_), stop_);
  const auto stub = v1::Engine::NewStub(MakeChannel(config_.grpc_listen));
  const Automaton choice = Choice({"yes", "no"});
  Automaton calls = OneRule();
  const int32_t inside = calls.AddState();
  calls.AddToken(0, kToolCall, inside);
  calls.AddBytes(inside, 'a', 'z', inside);
  calls.AddToken(inside, kToolCallEnd, calls.AddState(true));
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Answer either = Generate(*stub, choice, seed, 50);
    ASSERT_TRUE(either.status.ok()) << either.status.error_message();
    EXPECT_THAT(either.text, testing::AnyOf("yes", "no"));
    EXPECT_EQ(either.finished.reason(), v1::FINISH_REASON_STOP);
    const Answer call = Generate(*stub, calls, seed, 30);
    ASSERT_TRUE(call.status.ok()) << call.status.error_message();
    const bool stopped = call.finished.reason() == v1::FINISH_REASON_STOP;
    EXPECT_TRUE(std::regex_match(call.text, std::regex(stopped ? "<4083>[a-z]*<4084>" : "<4083>[a-z]*(<4084>)?")))
        << call.text;
  }
  EXPECT_EQ(Generate(*stub, OneRule(), 1, 5).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ConstrainedWorkerTest, WithoutATokenizerOnlyConstraintsAreRefused) {
  const std::string bare = home_ + "/bare";
  std::filesystem::create_directory(bare);
  for (const auto& entry : std::filesystem::directory_iterator(config_.model)) {
    if (entry.path().filename() != "tokenizer.json") {
      std::filesystem::create_symlink(entry.path(), bare + "/" + entry.path().filename().string());
    }
  }
  config_.model = bare;
  Worker worker(config_, DescribeConfig(config_), stop_);
  const auto stub = v1::Engine::NewStub(MakeChannel(config_.grpc_listen));
  const Answer answer = Generate(*stub, Choice({"yes"}), 1, 5);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), testing::HasSubstr("tokenizer.json"));
}

}  // namespace
}  // namespace hearth
