#pragma once

/// A client that sends exactly the bytes it is told to, and reads answers strictly.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace deepinfer::server::testing {

struct RawResponse {
  int status = 0;
  /// Names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;
  /// The body's end was marked (length or last chunk), not just the end of the connection.
  bool complete = false;

  std::string header(const std::string& name) const;
};

/// Every wait ends after 20 s, so that a hang is a failed test.
class RawClient {
 public:
  /// `receive_buffer` bytes of socket buffer; 0 = the system's.
  explicit RawClient(int port, const std::string& host = "127.0.0.1", int receive_buffer = 0);

  bool connected() const { return socket_.valid(); }
  bool send(std::string_view bytes);
  /// Reads the next response, its body included. Empty if the connection ends before one.
  std::optional<RawResponse> read_response(bool head_only = false);
  /// Reads until `text` was seen; false if the connection ends before.
  bool read_until(std::string_view text);
  /// True if the server ended the connection (whatever came before is kept in `received`).
  bool wait_for_close();
  /// That end was a reset, which may lose what the server had sent.
  bool was_reset() const { return was_reset_; }
  /// All bytes that no `read_response` took.
  const std::string& received() const { return buffer_; }

  /// Sends FIN, keeps reading.
  void half_close();
  void close() { socket_.reset(-1); }
  /// Closes with RST.
  void reset();

 private:
  bool read_more();
  std::optional<std::string> take_line();
  bool take_bytes(size_t count, std::string& out);
  bool take_chunks(std::string& out);

  base::UniqueFd socket_;
  std::string buffer_;
  bool was_reset_ = false;
};

/// `POST path` with a JSON body and its length.
std::string post_text(std::string_view path, std::string_view body,
                      std::string_view extra_headers = {});
/// `GET path`, or another method without a body.
std::string get_text(std::string_view path, std::string_view extra_headers = {},
                     std::string_view method = "GET");

}  // namespace deepinfer::server::testing
