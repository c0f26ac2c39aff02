#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/listen_socket.h"
#include "common/config/option_table.h"
#include "common/config/problems.h"

namespace hearth {

struct GatewayConfig {
  std::string host = "127.0.0.1";
  uint16_t port = 30000;
  std::vector<std::string> worker = {"127.0.0.1:30001"};
  std::string worker_tls_ca, worker_tls_cert, worker_tls_key, worker_tls_name;
  std::vector<std::string> served_name = {"glm-5.3-flash"};
  std::string model_dir;
  bool strict = false;
  std::vector<std::string> api_key;
  std::string api_key_file;
  bool open_status = true;
  std::string tls_cert;
  std::string tls_key;
  std::vector<std::string> cors_origins;
  std::vector<std::string> allowed_hosts;
  uint32_t max_connections = 1024;
  uint64_t max_body_bytes = 32 << 20;
  uint64_t max_inflight_bytes = 256 << 20;
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{10'000};
  std::chrono::milliseconds idle_timeout{30'000};
  std::chrono::milliseconds request_timeout{3'600'000};
  std::chrono::milliseconds keep_alive{5'000};
  std::chrono::milliseconds drain_timeout{30'000};
  std::string log_level = "info";

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    visit(OptionSpec{.flag = "--host", .help = "Address to serve HTTP on; 0.0.0.0 or :: for every interface"}, host);
    visit(OptionSpec{.flag = "--port", .env = {"PORT"}, .help = "Port to serve HTTP on; 0 takes a free one"}, port);
    visit(OptionSpec{.flag = "--worker",
                     .env = {"HEARTH_WORKERS"},
                     .help =
                         "gRPC addresses of the workers: HOST:PORT, unix:PATH, or dns:///NAME:PORT for all of a name"},
          worker);
    visit(
        OptionSpec{.flag = "--worker-tls-ca",
                   .help = "PEM file with the CA that must have signed the workers' certificates: TLS to the workers, "
                           "on TCP only"},
        worker_tls_ca);
    visit(OptionSpec{.flag = "--worker-tls-cert",
                     .help = "PEM file with certificate and chain to show to workers that ask for one"},
          worker_tls_cert);
    visit(OptionSpec{.flag = "--worker-tls-key", .help = "PEM file with the key of --worker-tls-cert"}, worker_tls_key);
    visit(OptionSpec{.flag = "--worker-tls-name",
                     .help = "Host name that the workers' certificates must hold; empty: that of each address"},
          worker_tls_name);
    visit(OptionSpec{.flag = "--served-name",
                     .env = {"SERVED_NAME"},
                     .help = "Names that requests may give as their model; the first one is shown"},
          served_name);
    visit(OptionSpec{.flag = "--model-dir",
                     .aliases = {"-m", "--model"},
                     .env = {"GLM53_MODEL_DIR"},
                     .help = "Folder with tokenizer.json; when absent, the one the worker names"},
          model_dir);
    visit(OptionSpec{.flag = "--strict", .help = "Refuse requests with unknown fields instead of listing them"},
          strict);
    visit(OptionSpec{.flag = "--api-key", .help = "Keys of which a request must bring one", .secret = true}, api_key);
    visit(OptionSpec{.flag = "--api-key-file", .help = "File with further keys, one a line"}, api_key_file);
    visit(OptionSpec{.flag = "--open-status", .help = "Answer /health and /metrics without a key"}, open_status);
    visit(OptionSpec{.flag = "--tls-cert", .help = "PEM file with certificate and chain: HTTPS instead of HTTP"},
          tls_cert);
    visit(OptionSpec{.flag = "--tls-key", .help = "PEM file with the key of --tls-cert"}, tls_key);
    visit(OptionSpec{.flag = "--cors-origins", .help = "Origins whose pages may read answers; * is any"}, cors_origins);
    visit(OptionSpec{.flag = "--allowed-hosts", .help = "Host names a request may be addressed to; none given: any"},
          allowed_hosts);
    visit(OptionSpec{.flag = "--max-connections", .help = "Connections served at once; more are answered 503"},
          max_connections);
    visit(OptionSpec{.flag = "--max-body-bytes", .help = "Longest request body"}, max_body_bytes);
    visit(OptionSpec{.flag = "--max-inflight-bytes",
                     .help = "Bytes of all bodies being received and handled; what exceeds them is answered 503"},
          max_inflight_bytes);
    visit(OptionSpec{.flag = "--header-timeout",
                     .help = "Time for a request's head; of a new connection from accept, with the TLS handshake"},
          header_timeout);
    visit(OptionSpec{.flag = "--body-timeout", .help = "Time for a request's body"}, body_timeout);
    visit(OptionSpec{.flag = "--write-timeout",
                     .help = "Time in which a client must take 64 KiB of what is written to it, or all that is left"},
          write_timeout);
    visit(OptionSpec{.flag = "--idle-timeout", .help = "Time between two requests of a connection"}, idle_timeout);
    visit(OptionSpec{.flag = "--request-timeout",
                     .help = "Longest a request may take, with queueing and all its scorings and generations"},
          request_timeout);
    visit(OptionSpec{.flag = "--keep-alive",
                     .help = "Longest silence of a stream: then a comment line shows that the request is alive"},
          keep_alive);
    visit(OptionSpec{.flag = "--drain-timeout", .help = "Time running requests get after SIGTERM"}, drain_timeout);
    visit(OptionSpec{.flag = "--log-level",
                     .help = "Events below are not logged",
                     .allowed = {"debug", "info", "warning", "error"}},
          log_level);
  }

  static bool IsHostName(const std::string& name) {
    return name.find_first_of("/ ") == std::string::npos &&
           (name.starts_with('[') || name.find(':') == std::string::npos);
  }
  static bool IsOrigin(const std::string& origin) {
    const size_t scheme = origin.find("://");
    return origin == "*" || origin == "null" ||
           (scheme != std::string::npos && scheme + 3 < origin.size() &&
            origin.find_first_of("/ ", scheme + 3) == std::string::npos);
  }
  void Validate(Problems& problems) const {
    using std::chrono_literals::operator""ms;
    problems.Require(!served_name.empty() && !served_name.front().empty(), "served-name", served_name, "a name");
    const std::set<std::string> distinct(worker.begin(), worker.end());
    problems.Require(
        !worker.empty() && worker.size() <= 64 && distinct.size() == worker.size() &&
            std::all_of(worker.begin(), worker.end(), [](const auto& address) { return IsConnectAddress(address); }),
        "worker", worker, "1 to 64 different addresses HOST:PORT, unix:PATH or dns:///NAME:PORT");
    const bool on_tcp =
        std::none_of(worker.begin(), worker.end(), [](const auto& address) { return address.starts_with("unix:"); });
    problems.Require(worker_tls_ca.empty() || on_tcp, "worker-tls-ca", worker_tls_ca,
                     "none with a unix: address in --worker: TLS is for TCP, and permissions guard a Unix socket");
    problems.Require(worker_tls_cert.empty() == worker_tls_key.empty(), "worker-tls-key", worker_tls_key,
                     "to be given together with --worker-tls-cert");
    problems.Require(worker_tls_cert.empty() || !worker_tls_ca.empty(), "worker-tls-cert", worker_tls_cert,
                     "to be given together with --worker-tls-ca");
    problems.Require(worker_tls_name.empty() || !worker_tls_ca.empty(), "worker-tls-name", worker_tls_name,
                     "to be given together with --worker-tls-ca");
    // With a scheme, a port or a path they would match no request, and every one would be refused.
    problems.Require(std::all_of(allowed_hosts.begin(), allowed_hosts.end(), IsHostName), "allowed-hosts",
                     allowed_hosts, "host names alone, such as hearth.example or [::1]");
    problems.Require(std::all_of(cors_origins.begin(), cors_origins.end(), IsOrigin), "cors-origins", cors_origins,
                     "* or origins such as https://chat.example:8443, without a path");
    problems.Require(tls_cert.empty() == tls_key.empty(), "tls-key", tls_key, "to be given together with --tls-cert");
    problems.Require(keep_alive >= 1ms, "keep-alive", keep_alive, "more than 0");
    problems.Require(max_connections >= 1 && max_connections <= 1024, "max-connections", max_connections, "1 to 1024");
    problems.Require(max_body_bytes >= 1024 && max_body_bytes <= (uint64_t{1} << 30), "max-body-bytes", max_body_bytes,
                     "1024 to 1073741824");
    problems.Require(max_inflight_bytes >= max_body_bytes, "max-inflight-bytes", max_inflight_bytes,
                     "at least --max-body-bytes");
    problems.Require(header_timeout >= 1ms, "header-timeout", header_timeout, "more than 0");
    problems.Require(body_timeout >= 1ms, "body-timeout", body_timeout, "more than 0");
    problems.Require(write_timeout >= 1ms, "write-timeout", write_timeout, "more than 0");
    problems.Require(idle_timeout >= 1ms, "idle-timeout", idle_timeout, "more than 0");
    problems.Require(request_timeout >= 1ms, "request-timeout", request_timeout, "more than 0");
  }
};

}  // namespace hearth
