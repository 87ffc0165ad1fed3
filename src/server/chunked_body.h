#pragma once

/// Decodes `Transfer-Encoding: chunked`, strictly: sizes are hexadecimal digits, nothing is
/// guessed, trailers are dropped.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/refusal.h"

namespace deepinfer::server {

/// One body. Fed with whatever pieces the socket gives.
class ChunkedDecoder {
 public:
  /// A body above `max_bytes` is refused with 413 as soon as a chunk size says so.
  explicit ChunkedDecoder(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Consumes `input` from the front, appends data to `body` and returns the bytes consumed:
  /// all of them unless the body ended (`done`) or was refused (`refusal`).
  size_t feed(std::string_view input, std::string& body);

  bool done() const { return state_ == State::kDone; }
  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  enum class State { kSizeLine, kData, kDataEnd, kTrailer, kDone };

  size_t take_line(std::string_view input, size_t max_line, std::string& body);
  void end_line(std::string& body);
  void start_chunk(const std::string& body);
  size_t take_data(std::string_view input, std::string& body);
  void fail(int http_status, std::string message);

  const uint64_t max_bytes_;
  State state_ = State::kSizeLine;
  std::string line_;
  uint64_t remaining_ = 0;
  size_t trailer_bytes_ = 0;
  std::optional<Refusal> refusal_;
};

}  // namespace deepinfer::server
