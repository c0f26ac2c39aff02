#include "gateway/http/http_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "common/base/listen_socket.h"
#include "common/base/scope_exit.h"
#include "common/log/log.h"
#include "gateway/http/error_response.h"
#include "gateway/http/request_head.h"
#include "gateway/http/sse_writer.h"
#include "gateway/http/task_threads.h"

namespace hearth::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 1024;
constexpr size_t kStackBytes = 1024 * 1024;

// What the library sees of a connection: the cleaned head to read, the socket to write to. Bodies are read elsewhere.
class HeadStream : public httplib::Stream {
 public:
  HeadStream(Connection& connection, std::string head) : connection_(connection), head_(std::move(head)) {}

  bool is_readable() const override { return used_ < head_.size(); }
  bool is_writable() const override { return !connection_.broken(); }
  ssize_t read(char* to, size_t size) override {
    const size_t part = std::min(size, head_.size() - used_);
    head_.copy(to, part, used_);
    used_ += part;
    return static_cast<ssize_t>(part);
  }
  ssize_t write(const char* data, size_t size) override {
    const bool sent = std::exchange(begun_, true) ? connection_.Write({data, size}) : WriteHead({data, size});
    return sent ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  // The library only asks whether select() could take it, which is never called.
  socket_t socket() const override { return 0; }

 private:
  // The library writes the head first and at once; it knows no phrase for a status outside the standard's.
  bool WriteHead(std::string_view head) {
    constexpr std::string_view kClosed = "HTTP/1.1 499 ";
    if (!head.starts_with(kClosed)) return connection_.Write(head);
    return connection_.Write(StrCat(kClosed, ReasonPhrase(499), head.substr(std::min(head.find("\r\n"), head.size()))));
  }

  Connection& connection_;
  std::string head_;
  size_t used_ = 0;
  bool begun_ = false;
};

class SinkWriter : public BodyWriter {
 public:
  SinkWriter(httplib::DataSink& sink, Connection& connection) : sink_(sink), connection_(connection) {}
  bool Write(std::string_view data) override {
    if (connection_.broken()) return false;
    if (!data.empty()) sink_.write(data.data(), data.size());
    return !connection_.broken();
  }
  bool timed_out() const override { return connection_.write_timed_out(); }

 private:
  httplib::DataSink& sink_;
  Connection& connection_;
};

// A refusal for a connection whose request the library never sees.
std::string PlainAnswer(const HttpResponse& response) {
  std::string text = StrCat("HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status), "\r\n");
  for (const auto& [name, value] : response.headers) text += StrCat(name, ": ", value, "\r\n");
  text += StrCat("x-request-id: ", RequestId({}), "\r\nContent-Type: ", response.content_type,
                 "\r\nContent-Length: ", response.body.size(), "\r\nConnection: close\r\n\r\n", response.body);
  return text;
}

HttpResponse AnswerTo(ReadOutcome outcome, const char* part, const ConnectionLimits& limits) {
  switch (outcome) {
    case ReadOutcome::kTimeout:
      return ErrorResponse(408, StrCat("the ", part, " did not come in time"), "timeout");
    case ReadOutcome::kMalformed:
      return ErrorResponse(400, StrCat("the ", part, " is malformed"), "malformed_request");
    case ReadOutcome::kTooLarge:
      if (std::string_view(part) == "head") {
        return ErrorResponse(431, StrCat("the head has more than ", limits.header_bytes, " bytes"));
      }
      return ErrorResponse(413, StrCat("the body has more than ", limits.body_bytes, " bytes; see --max-body-bytes"),
                           "body_too_large");
    case ReadOutcome::kNoRoom:
      return ErrorResponse(503, "too many bytes of request bodies at once; see --max-inflight-bytes",
                           "too_many_body_bytes");
    default:
      return ErrorResponse(400, StrCat("the ", part, " is incomplete"), "malformed_request");
  }
}

}  // namespace

class HttpServer::Impl : public httplib::Server {
 public:
  Impl(ServerOptions options, http::Handler handler)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        tls_(options_.tls_cert.empty() ? nullptr : std::make_unique<TlsContext>(options_.tls_cert, options_.tls_key)),
        listener_(ListenTcp(options_.host, options_.port, "--port", kBacklog)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        port_(BoundPort(listener_.get())),
        threads_(options_.max_connections, kStackBytes) {
    // What the Keep-Alive header promises.
    set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(options_.limits.idle_timeout).count());
    set_keep_alive_max_count(static_cast<size_t>(options_.requests_per_connection));
    svr_sock_ = listener_.get();  // the library takes a server without a socket for one that is shutting down
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Exchange(request, response);
      return HandlerResponse::Handled;
    });
    // What the library refuses by itself has no body.
    set_error_handler(HandlerWithResponse([this](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty() || response.content_provider_) return HandlerResponse::Unhandled;
      options_.on_refusal(response.status);
      response.set_content(ErrorResponse(response.status, "the request is malformed", "malformed_request").body,
                           "application/json");
      response.set_header("x-request-id", RequestId({}));
      return HandlerResponse::Handled;
    }));
  }

  ~Impl() override {
    cut_ = true;
    ::eventfd_write(end_.get(), 1);
    ::eventfd_write(wake_.get(), 1);
    if (acceptor_.joinable()) acceptor_.join();
    {
      std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    threads_.WaitIdle();
    svr_sock_ = INVALID_SOCKET;
  }

  void Start() {
    acceptor_ = std::thread([this] { AcceptLoop(); });
  }

  void Drain(Deadline deadline, const std::function<bool(const std::string&)>& is_status) {
    std::unique_lock lock(mutex_);
    is_status_ = is_status;
    draining_ = true;
    ::eventfd_write(wake_.get(), 1);
    const auto idle = [this] { return running_ == 0; };
    const auto until = std::min(deadline.when(), Clock::now() + std::chrono::hours(24));
    if (idle_.wait_until(lock, until, idle)) return;
    Log(LogLevel::kWarning, "drain_cut", {{"running", running_}});
    cut_ = true;
    idle_.wait_for(lock, std::chrono::seconds(5), idle);
  }

  int port() const { return port_; }
  size_t busy() const { return threads_.busy(); }

 private:
  // What one request leaves behind for its connection's loop.
  struct Current {
    Connection* connection = nullptr;
    bool must_close = false;
  };

  void AcceptLoop() {
    while (true) {
      pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
      ::poll(fds, 2, -1);
      if (fds[1].revents != 0) return;
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) {
        // Out of descriptors, mostly: a connection must end before the next can come.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
          Log(LogLevel::kError, "accept_failed", {{"reason", std::strerror(errno)}});
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        continue;
      }
      const int fd = client.Release();
      if (threads_.Run([this, fd] { process_and_close_socket(fd); })) continue;
      client = UniqueFd(fd);
      if (tls_) continue;  // a refusal would need a handshake, and so a thread
      options_.on_refusal(503);
      const std::string full = PlainAnswer(ErrorResponse(503, "too many connections", "too_many_connections"));
      ::send(fd, full.data(), full.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      ::shutdown(fd, SHUT_WR);
    }
  }

  bool process_and_close_socket(socket_t fd) override {
    Connection connection(UniqueFd(fd), options_.limits, tls_.get());
    {
      std::lock_guard lock(mutex_);
      open_.insert(fd);
    }
    const bool open = connection.Handshake();
    for (int served = 0; open && served < options_.requests_per_connection && !cut_; ++served) {
      // A new connection's first request is answered even while draining: with 503.
      const bool first = served == 0;
      if (!connection.WaitForRequest(first ? end_.get() : wake_.get(), first)) break;
      if (!ServeOne(connection, served + 1 == options_.requests_per_connection)) break;
    }
    {
      std::lock_guard lock(mutex_);
      open_.erase(fd);
    }
    connection.CloseGently();
    return true;
  }

  // False when the connection must not be used again, which the response says where it is known before: when it is the
  // `last`, and while draining.
  bool ServeOne(Connection& connection, bool last) {
    std::string head;
    const ReadOutcome outcome = connection.ReadHead(head);
    if (outcome == ReadOutcome::kClosed) return false;
    std::optional<HttpResponse> refusal;
    if (outcome != ReadOutcome::kOk) refusal = AnswerTo(outcome, "head", options_.limits);
    bool expects = false;
    if (!refusal) refusal = CleanHead(head, expects);
    if (refusal) {
      options_.on_refusal(refusal->status);
      connection.Write(PlainAnswer(*refusal));
      return false;
    }
    HeadStream stream(connection, std::move(head));
    Current current{&connection};
    current_ = &current;
    expects_continue_ = expects;
    bool closed = false;
    const bool good = process_request(stream, draining_ || last, closed, nullptr);
    current_ = nullptr;
    return good && !closed && !current.must_close && !draining_ && !connection.broken();
  }

  // Runs a request: from the library's head to the library's response.
  void Exchange(const httplib::Request& from, httplib::Response& to) {
    const auto start = Clock::now();
    Connection& connection = *current_->connection;
    const size_t written_before = connection.bytes_written();
    HttpRequest request;
    request.method = from.method == "HEAD" ? "GET" : from.method;
    request.path = from.path;
    for (const auto& [name, value] : from.headers) {
      if (name != "REMOTE_ADDR" && name != "REMOTE_PORT" && name != "LOCAL_ADDR" && name != "LOCAL_PORT") {
        request.headers.emplace_back(name, value);
      }
    }
    request.remote = connection.PeerAddress();
    request.id = RequestId(request.Header("x-request-id"));
    request.client_left = [this, &connection] { return cut_ || connection.PeerLeft(); };
    request.drain_over = [this] { return cut_.load(); };
    HttpResponse response = Answer(request, connection);
    response.headers.emplace_back("x-request-id", request.id);
    AddCors(options_.access, request, response);
    if (current_->must_close) const_cast<httplib::Request&>(from).set_header("Connection", "close");
    // The stream reports its failure in the same note, and under the same id.
    const StreamOrigin origin{request.id, request.path, request.note};
    Translate(from, std::move(response), to, origin,
              [this, request = std::move(request), start, written_before, &connection](int status) {
                LogRequest(request, status, connection.bytes_written() - written_before, start);
              });
  }

  HttpResponse Answer(HttpRequest& request, Connection& connection) {
    size_t reserved = 0;
    const ScopeExit release([&] {
      request.body = {};  // not needed while the answer is sent
      inflight_bytes_ -= reserved;
    });
    // Bytes count as they come, so that a slow or idle sender takes no room from others.
    connection.SetBodyMeter([this, &reserved](size_t bytes) {
      reserved += bytes;
      return inflight_bytes_.fetch_add(bytes) + bytes <= options_.inflight_bytes;
    });
    if (auto refusal = Receive(request, connection)) {
      options_.on_refusal(refusal->status);
      return *std::move(refusal);
    }
    running_here_ = true;
    return handler_(request);
  }

  // Reads the body and admits the request, or says why not.
  std::optional<HttpResponse> Receive(HttpRequest& request, Connection& connection) {
    current_->must_close = true;  // until the body has been read
    if (auto refusal = Refuse(options_.access, request)) return refusal;
    BodyFraming framing;
    if (auto refusal = options_.refuse_early(request)) {
      const bool bare = !ReadFraming(request, options_.limits.body_bytes, framing) && !framing.chunked;
      current_->must_close = !bare || framing.length > 0;
      return refusal;
    }
    if (auto refusal = ReadFraming(request, options_.limits.body_bytes, framing)) return refusal;
    if (expects_continue_ && (framing.chunked || framing.length > 0)) connection.Write("HTTP/1.1 100 Continue\r\n\r\n");
    const ReadOutcome outcome =
        framing.chunked ? connection.ReadChunkedBody(request.body) : connection.ReadBody(framing.length, request.body);
    if (outcome != ReadOutcome::kOk) return AnswerTo(outcome, "body", options_.limits);
    current_->must_close = false;
    {
      std::lock_guard lock(mutex_);
      if (draining_ && !is_status_(request.path)) {
        current_->must_close = true;
        return ErrorResponse(Unavailable("the gateway is draining: it takes no new requests"));
      }
      ++running_;
    }
    return std::nullopt;
  }

  // Whose stream it is.
  struct StreamOrigin {
    std::string id, path;
    std::shared_ptr<RequestNote> note;
  };

  // Runs what writes a streamed body. An exception, which nothing above would catch, ends the stream as broken, after
  // an error event where the body is one of events. False then.
  bool RunStream(const std::function<void(BodyWriter&)>& stream, bool events, const StreamOrigin& origin,
                 BodyWriter& writer) const {
    try {
      stream(writer);
      return true;
    } catch (const std::exception& error) {
      Log(LogLevel::kError, "stream_failed", {{"request", origin.id}, {"path", origin.path}, {"what", error.what()}});
    }
    const Status failure = Internal("the gateway failed on this request; its log has the details under ", origin.id);
    origin.note->error = failure.message();
    options_.on_refusal(HttpStatusOf(failure.code()));
    if (events) SseWriter(writer).Event(ErrorBody(failure));
    return false;
  }

  void Translate(const httplib::Request& from, HttpResponse response, httplib::Response& to, StreamOrigin origin,
                 std::function<void(int)> done) {
    const int status = to.status = response.status;
    for (auto& [name, value] : response.headers) to.set_header(name, value);
    // Also runs when the peer left before the body could be written.
    const bool counted = std::exchange(running_here_, false);
    auto release = [this, done = std::move(done), status, counted](bool) {
      done(status);
      if (!counted) return;
      std::lock_guard lock(mutex_);
      if (--running_ == 0) idle_.notify_all();
    };
    if (!response.stream) {
      auto body = std::make_shared<std::string>(std::move(response.body));
      if (status == 204 || body->empty()) {
        to.set_content(*body, response.content_type);
        to.content_provider_resource_releaser_ = release;
        return;
      }
      to.set_content_provider(
          body->size(), response.content_type,
          [body](size_t offset, size_t length, httplib::DataSink& sink) {
            sink.write(body->data() + offset, length);
            return true;
          },
          release);
      return;
    }
    Connection& connection = *current_->connection;
    const bool events = response.content_type == "text/event-stream";
    auto provider = [this, stream = std::move(response.stream), events, origin = std::move(origin), &connection](
                        size_t, httplib::DataSink& sink) {
      SinkWriter writer(sink, connection);
      if (!RunStream(stream, events, origin, writer) || connection.broken()) return false;
      sink.done();
      return true;
    };
    if (from.version == "HTTP/1.0") {
      current_->must_close = true;
      to.set_content_provider(response.content_type, provider, release);
    } else {
      to.set_chunked_content_provider(response.content_type, provider, release);
    }
  }

  void LogRequest(const HttpRequest& request, int status, size_t bytes, Clock::time_point start) const {
    const RequestNote& note = *request.note;
    // Probes, scrapes and the page's plots come every second or so and say nothing; what changes a state has its own
    // line.
    const bool poll = request.method == "GET" && status < 400;
    Log(poll ? LogLevel::kDebug : LogLevel::kInfo, "request",
        {{"request", request.id},
         {"method", request.method},
         {"path", request.path},
         {"status", status},
         {"seconds", Clock::now() - start},
         {"bytes", bytes},
         {"remote", request.remote},
         {"prompt_tokens", note.prompt_tokens},
         {"completion_tokens", note.completion_tokens},
         {"finish", note.finish_reason},
         {"error", note.error}});
  }

  static thread_local Current* current_;
  static thread_local bool expects_continue_;
  static thread_local bool running_here_;

  const ServerOptions options_;
  const http::Handler handler_;
  const std::unique_ptr<const TlsContext> tls_;
  UniqueFd listener_;
  UniqueFd wake_;  // readable once idle connections should end
  UniqueFd end_;   // readable once the acceptor should end
  const int port_;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t running_ = 0;
  std::atomic<size_t> inflight_bytes_{0};
  std::set<int> open_;  // sockets of connections, so that they can be shut down
  std::function<bool(const std::string&)> is_status_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> cut_{false};
  std::thread acceptor_;
  TaskThreads threads_;  // last: its tasks use everything above
};

thread_local HttpServer::Impl::Current* HttpServer::Impl::current_ = nullptr;
thread_local bool HttpServer::Impl::expects_continue_ = false;
thread_local bool HttpServer::Impl::running_here_ = false;

HttpServer::HttpServer(ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
HttpServer::~HttpServer() = default;
void HttpServer::Start() { impl_->Start(); }
int HttpServer::port() const { return impl_->port(); }
size_t HttpServer::open_connections() const { return impl_->busy(); }
void HttpServer::Drain(Deadline deadline, const std::function<bool(const std::string&)>& is_status) {
  impl_->Drain(deadline, is_status);
}

}  // namespace hearth::http
