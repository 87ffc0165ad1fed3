#pragma once

/// Reads the head of an HTTP/1 request: bytes in, a checked head or a refusal out. No sockets,
/// so every row of the rules is a unit test. Stricter than the HTTP library behind it: whatever
/// two parsers could read differently is refused here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/refusal.h"

namespace deepinfer::server {

struct HeadLimits {
  size_t head_bytes = 16 * 1024;
  size_t num_headers = 100;
  /// One header line as it is handed on, where a `%` of the value takes three bytes.
  size_t line_bytes = 8000;
  size_t target_bytes = 4 * 1024;
};

struct Header {
  std::string name;
  std::string value;
};

struct RequestHead {
  std::string method;
  /// Origin form without the query, as sent (`/v1/models/a%20b`); `*` for OPTIONS.
  std::string raw_path;
  /// `raw_path` percent-decoded.
  std::string path;
  /// 0 or 1: HTTP/1.0 or HTTP/1.1.
  int minor_version = 1;
  std::vector<Header> headers;
  /// Bytes of the body; absent when there is none or it is chunked.
  std::optional<uint64_t> content_length;
  bool chunked = false;
  bool expects_continue = false;
  bool wants_keep_alive = false;
  /// Bytes of the head, closing empty line included.
  size_t size_bytes = 0;

  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
  /// The first header of that name (any case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

/// More bytes are needed.
struct NeedMore {};
using HeadResult = std::variant<NeedMore, Refusal, RequestHead>;

/// Parses the head at the front of `bytes`.
HeadResult parse_head(std::string_view bytes, const HeadLimits& limits);

/// True once `parse_head` would not answer NeedMore: the head is complete, too long, or holds
/// something that no further byte can mend. Cheap; the poll thread asks it.
bool head_is_decided(std::string_view bytes, const HeadLimits& limits);

/// Removes empty lines in front of a request (some clients send one behind a body).
void drop_leading_empty_lines(std::string& bytes);

/// The head that the HTTP library sees: the request line and every header that cannot make it
/// misread the connection. Its percent-decoding of header values is undone in advance.
std::string compose_head(const RequestHead& head);

/// Compares ASCII without case.
bool equals_ignoring_case(std::string_view a, std::string_view b);

}  // namespace deepinfer::server
