#include <gtest/gtest.h>
#include <sys/resource.h>

#include "gateway/http/descriptor_limit.h"
#include "gateway/http/http_server.h"
#include "tests/gateway/running_server.h"

namespace hearth::http {
namespace {

// Time, room and the end: what the server does about clients that are slow, many, big or gone.
class ServerLimits : public RunningServer {};

TEST_F(ServerLimits, BodiesInFlightAreBoundedTogether) {
  options_.limits.body_bytes = 800;
  options_.inflight_bytes = 1000;
  std::atomic<int> refused{0};
  options_.on_refusal = [&](int status) { refused += status; };
  router_.Add("POST", "/hold", [this](const HttpRequest&) {
    ++waiting_;
    while (!release_) std::this_thread::sleep_for(2ms);
    return HttpResponse{.body = "\"held\""};
  });
  Start();
  HttpProbe holder(server_->port());
  const std::string body(700, 'x');
  holder.Send("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 700\r\n\r\n" + body);
  ASSERT_TRUE(Eventually([this] { return waiting_ == 1; }));
  // A sender that only announces a body takes no room.
  HttpProbe idle(server_->port());
  idle.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 700\r\n\r\n");
  EXPECT_EQ(Fetch(server_->port(), "POST", "/echo", std::string(200, 'y')).status, 200);
  const HttpReply full = Fetch(server_->port(), "POST", "/echo", body);
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.headers.count("retry-after"), 1u);
  EXPECT_EQ(refused, 503);
  release_ = true;
  EXPECT_EQ(holder.Receive().status, 200);
  EXPECT_EQ(Fetch(server_->port(), "POST", "/echo", body).status, 200);
}

TEST_F(ServerLimits, DribbledHeadAndBodyAreCut) {
  options_.limits.header_timeout = 150ms;
  options_.limits.body_timeout = 150ms;
  Start();
  for (const std::string start :
       {"GET /hello HTTP/1.1\r\nA: ", "POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"}) {
    HttpProbe probe(server_->port());
    probe.Send(start);
    std::atomic<bool> end{false};
    std::thread dribble([&] {
      while (!end && probe.Send("a")) std::this_thread::sleep_for(10ms);
    });
    EXPECT_EQ(probe.Receive().status, 408) << start;
    end = true;
    dribble.join();
  }
  HttpProbe silent(server_->port());
  EXPECT_TRUE(silent.WaitClosed());
}

TEST_F(ServerLimits, ANewConnectionHasOneTimeForItsFirstHead) {
  options_.limits.header_timeout = 2s;
  Start();
  const auto start = std::chrono::steady_clock::now();
  HttpProbe probe(server_->port());
  std::this_thread::sleep_for(1500ms);
  probe.Send("GET /hello HTTP/1.1\r\n");
  EXPECT_EQ(probe.Receive().status, 408);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s) << "the first byte gave no further time";
  // The next head has a time of its own.
  HttpProbe kept(server_->port());
  kept.Send("GET /hello HTTP/1.1\r\n\r\n");
  EXPECT_EQ(kept.Receive().status, 200);
  std::this_thread::sleep_for(1500ms);
  kept.Send("GET /hello HTTP/1.1\r\n");
  std::this_thread::sleep_for(1s);
  kept.Send("\r\n");
  EXPECT_EQ(kept.Receive().status, 200);
}

TEST_F(ServerLimits, SeesItsClientLeaveWhileTheHandlerWaits) {
  Start();
  HttpProbe probe(server_->port());
  probe.Send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([this] { return waiting_ == 1; }));
  EXPECT_EQ(left_, 0);
  probe.Close();
  EXPECT_TRUE(Eventually([this] { return left_ == 1; }));
}

TEST_F(ServerLimits, CutsAReaderThatDoesNotRead) {
  options_.limits.write_timeout = 100ms;
  Start();
  HttpProbe probe(server_->port(), 4096);
  probe.Send("GET /stream HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
  EXPECT_TRUE(timed_out_);
}

TEST_F(ServerLimits, ALongAnswerMayTakeLongerThanTheWriteTimeoutForAReader) {
  options_.limits.write_timeout = 500ms;
  const std::string body(16 << 20, 'x');
  router_.Add("GET", "/long", [&](const HttpRequest&) { return HttpResponse{.body = body}; });
  Start();
  HttpProbe probe(server_->port(), 65536);
  probe.Send("GET /long HTTP/1.1\r\nConnection: close\r\n\r\n");
  const auto start = std::chrono::steady_clock::now();
  size_t got = 0, pause_at = 128 << 10;
  for (std::string some; !(some = probe.ReadSome()).empty(); got += some.size()) {
    if (got < pause_at) continue;
    pause_at += 128 << 10;
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_GT(got, body.size());
  EXPECT_GT(std::chrono::steady_clock::now() - start, 3 * options_.limits.write_timeout);
}

TEST_F(ServerLimits, CutsAReaderThatTakesNextToNothingOfALongAnswer) {
  options_.limits.write_timeout = 300ms;
  std::atomic<int> cut{0};
  router_.Add("GET", "/long", [&](const HttpRequest&) {
    HttpResponse response{.content_type = "text/event-stream"};
    response.stream = [&](BodyWriter& writer) {
      cut = writer.Write(std::string(16 << 20, 'x')) ? -1 : writer.timed_out() ? 1 : -2;
    };
    return response;
  });
  Start();
  HttpProbe probe(server_->port(), 4096);
  probe.Send("GET /long HTTP/1.1\r\n\r\n");
  // Some bytes in every timeout, but few.
  EXPECT_TRUE(Eventually([&] {
    std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 2 && cut == 0; ++i) probe.ReadSome(1024);
    return cut != 0;
  }));
  EXPECT_EQ(cut, 1);
}

TEST_F(ServerLimits, StreamEndsWhenTheClientLeaves) {
  Start();
  HttpProbe probe(server_->port());
  probe.Send("GET /stream HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(probe.ReadSome().empty());
  probe.Close();
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
  EXPECT_FALSE(timed_out_);
}

TEST_F(ServerLimits, DrainsWith503AndEndsWhenIdle) {
  Start();
  HttpProbe running(server_->port());
  running.Send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([this] { return waiting_ == 1; }));
  std::atomic<bool> drained{false};
  std::thread drain([&] {
    server_->Drain(Deadline::Never(), [](const std::string& path) { return path == "/hello"; });
    drained = true;
  });
  ASSERT_TRUE(Eventually([this] { return Fetch(server_->port(), "POST", "/echo", "x").status == 503; }));
  EXPECT_EQ(Fetch(server_->port(), "GET", "/hello").status, 200);
  EXPECT_FALSE(drained);
  release_ = true;
  EXPECT_EQ(running.Receive().body, "\"waited\"");
  drain.join();
  EXPECT_TRUE(drained);
}

TEST_F(ServerLimits, DrainDeadlineTellsHandlersThatTheClientLeft) {
  Start();
  HttpProbe running(server_->port());
  running.Send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([this] { return waiting_ == 1; }));
  server_->Drain(Deadline::After(50ms), [](const std::string&) { return false; });
  EXPECT_EQ(left_, 1);
}

TEST(DescriptorLimit, ConnectionsLeaveDescriptorsForTheRest) {
  EXPECT_EQ(ConnectionsWithin(1 << 20, 1024), 1024u);
  EXPECT_EQ(ConnectionsWithin(1024, 1024), 1024 - kOtherDescriptors);
  EXPECT_EQ(ConnectionsWithin(1024, 100), 100u);
  EXPECT_EQ(ConnectionsWithin(20, 1024), 1u);
  rlimit before{}, after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), before.rlim_max);
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(ServerLimits, ConnectionsBeyondTheLimitAreRefused) {
  options_.max_connections = 2;
  Start();
  HttpProbe a(server_->port()), b(server_->port());
  a.Send("GET /wait HTTP/1.1\r\n\r\n");
  b.Send("GET /wait HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([this] { return waiting_ == 2; }));
  EXPECT_EQ(Fetch(server_->port(), "GET", "/hello").status, 503);
  release_ = true;
  EXPECT_EQ(a.Receive().status, 200);
  EXPECT_EQ(b.Receive().status, 200);
}

}  // namespace
}  // namespace hearth::http
