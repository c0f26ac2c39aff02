#include "tests/support/http_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace hearth::test {

HttpProbe::HttpProbe(int port, int receive_buffer) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_buffer > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.Reset();
}

bool HttpProbe::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpProbe::Fill() {
  pollfd fd = {fd_.get(), POLLIN, 0};
  if (::poll(&fd, 1, 10'000) <= 0) return false;
  char bytes[65536];
  const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

std::string HttpProbe::ReadSome(size_t most) {
  if (buffer_.empty()) Fill();
  std::string some = buffer_.substr(0, most);
  buffer_.erase(0, some.size());
  return some;
}

bool HttpProbe::WaitClosed() {
  while (Fill()) buffer_.clear();
  pollfd fd = {fd_.get(), POLLIN, 0};
  char byte;
  return ::poll(&fd, 1, 0) > 0 && ::recv(fd_.get(), &byte, 1, MSG_PEEK) <= 0;
}

std::string HttpProbe::ReadLine() {
  size_t end;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!Fill()) return {};
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

HttpReply HttpProbe::Receive() {
  HttpReply reply;
  const std::string first = ReadLine();
  if (first.size() < 12) return reply;
  reply.status = std::stoi(first.substr(9, 3));
  for (std::string line = ReadLine(); !line.empty(); line = ReadLine()) {
    const size_t colon = line.find(':');
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = line.substr(std::min(line.size(), colon + 2));
  }
  if (reply.status == 100) return Receive();
  if (reply.headers.count("transfer-encoding") > 0) {
    while (true) {
      const std::string length_line = ReadLine();
      if (length_line.empty()) break;
      const size_t length = std::stoul(length_line, nullptr, 16);
      while (buffer_.size() < length + 2 && Fill()) {
      }
      if (length > 0) reply.chunks.push_back(buffer_.substr(0, length));
      reply.body += buffer_.substr(0, length);
      buffer_.erase(0, length + 2);
      if (length == 0) break;
    }
    return reply;
  }
  const size_t length = reply.headers.count("content-length") > 0 ? std::stoul(reply.headers["content-length"]) : 0;
  while (buffer_.size() < length && Fill()) {
  }
  reply.body = buffer_.substr(0, length);
  buffer_.erase(0, reply.body.size());
  return reply;
}

HttpReply Fetch(int port, std::string_view method, std::string_view path, std::string_view body,
                const std::vector<std::string>& header_lines) {
  std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string& line : header_lines) text += line + "\r\n";
  if (method == "POST") {
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  text += "Connection: close\r\n\r\n";
  text += body;
  HttpProbe probe(port);
  probe.Send(text);
  return probe.Receive();
}

std::vector<std::string> EventData(const std::string& body) {
  std::vector<std::string> events;
  for (size_t at = 0; at < body.size();) {
    size_t end = body.find("\n\n", at);
    if (end == std::string::npos) end = body.size();
    const std::string event = body.substr(at, end - at);
    if (event.starts_with("data: ")) events.push_back(event.substr(6));
    at = end + 2;
  }
  return events;
}

}  // namespace hearth::test
