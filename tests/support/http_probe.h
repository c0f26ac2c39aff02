#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"

namespace hearth::test {

struct HttpReply {
  int status = 0;                              // 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunked coding removed
  std::vector<std::string> chunks;             // as sent, when chunked
};

// A client connection that sends exactly the bytes it is told to. Reading gives up after 10 s.
class HttpProbe {
 public:
  explicit HttpProbe(int port, int receive_buffer = 0);

  // False when the peer has closed.
  bool Send(std::string_view bytes);
  // Head and body of one answer.
  HttpReply Receive();
  // Whatever comes next, at most `most` bytes; "" at the end of the connection.
  std::string ReadSome(size_t most = 65536);
  // True once the peer has closed; waits for it.
  bool WaitClosed();
  void Close() { fd_.Reset(); }

 private:
  bool Fill();
  std::string ReadLine();

  UniqueFd fd_;
  std::string buffer_;
};

// One request on a connection of its own.
HttpReply Fetch(int port, std::string_view method, std::string_view path, std::string_view body = {},
                const std::vector<std::string>& header_lines = {});

// The data of each event of a server-sent stream, comments left out.
std::vector<std::string> EventData(const std::string& body);

}  // namespace hearth::test
