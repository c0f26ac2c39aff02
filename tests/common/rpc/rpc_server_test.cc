#include "common/rpc/rpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "common/base/startup_error.h"
#include "common/rpc/channel.h"

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return "";
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

bool Finished(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

// Bytes of the first answer to one message; nothing when the call fails.
std::optional<std::string> Call(const std::string& target, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(MakeChannel(target));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 30s);
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  if (!Finished(queue)) return std::nullopt;
  call->WriteLast(ToBuffer(request), {}, nullptr);
  if (!Finished(queue)) return std::nullopt;
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  if (!Finished(queue)) return std::nullopt;
  grpc::Status status;
  context.TryCancel();
  call->Finish(&status, nullptr);
  Finished(queue);
  return ToString(answer);
}

// HealthCheckResponse: field 1, 1 = SERVING, 2 = NOT_SERVING.
std::string Health(const std::string& target) {
  return Call(target, "/grpc.health.v1.Health/Check", "").value_or("none");
}

std::string ErrorOf(const RpcServer::Options& options) {
  try {
    RpcServer server(options, {});
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(RpcServer, TellsItsHealth) {
  RpcServer server({.listen = "127.0.0.1:0"}, {});
  const std::string target = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(Health(target), "\x08\x02");
  server.SetServing(true);
  EXPECT_EQ(Health(target), "\x08\x01");
}

TEST(RpcServer, ListsItsServicesByReflection) {
  RpcServer server({.listen = "127.0.0.1:0"}, {});
  const std::string target = "127.0.0.1:" + std::to_string(server.port());
  const std::string list_services("\x3A\x00", 2);  // field 7, an empty text
  const auto answer = Call(target, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", list_services);
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(*answer, HasSubstr("grpc.reflection.v1alpha.ServerReflection"));
}

TEST(RpcServer, RefusesATakenPort) {
  RpcServer first({.listen = "127.0.0.1:0"}, {});
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  EXPECT_THAT(ErrorOf({.listen = address, .listen_option = "--grpc-listen"}),
              AllOf(HasSubstr(address), HasSubstr("in use"), HasSubstr("--grpc-listen")));
}

TEST(RpcServer, RefusesWhatIsNoAddress) {
  EXPECT_THAT(ErrorOf({.listen = "nonsense", .listen_option = "--x"}), AllOf(HasSubstr("nonsense"), HasSubstr("--x")));
  EXPECT_THAT(ErrorOf({.listen = "unix:/no/such/folder/s", .listen_option = "--x"}), HasSubstr("--x"));
}

TEST(RpcServer, ServesAUnixSocketAndKeepsItFromOthers) {
  const std::string path = ::testing::TempDir() + "rpc_server_test_" + std::to_string(::getpid()) + ".sock";
  const std::string listen = "unix:" + path;
  {
    RpcServer server({.listen = listen}, {});
    server.SetServing(true);
    EXPECT_EQ(Health(listen), "\x08\x01");
    EXPECT_THAT(ErrorOf({.listen = listen, .listen_option = "--x"}),
                AllOf(HasSubstr(path), HasSubstr("another process")));
    EXPECT_EQ(Health(listen), "\x08\x01");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RpcServer, EndsWithinItsDeadlineWithACallRunning) {
  RpcServer server({.listen = "127.0.0.1:0"}, {});
  grpc::GenericStub stub(MakeChannel("127.0.0.1:" + std::to_string(server.port())));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 30s);
  grpc::CompletionQueue queue;
  const auto watch = stub.PrepareCall(&context, "/grpc.health.v1.Health/Watch", &queue);
  watch->StartCall(nullptr);
  ASSERT_TRUE(Finished(queue));
  watch->WriteLast(ToBuffer(""), {}, nullptr);
  ASSERT_TRUE(Finished(queue));
  grpc::ByteBuffer answer;
  watch->Read(&answer, nullptr);
  ASSERT_TRUE(Finished(queue));
  server.Shutdown(Deadline::After(10ms));
  do {  // a call ends for its client only when its last message was read
    answer.Clear();
    watch->Read(&answer, nullptr);
  } while (Finished(queue));
  grpc::Status status;
  watch->Finish(&status, nullptr);
  Finished(queue);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
}

}  // namespace
}  // namespace hearth
