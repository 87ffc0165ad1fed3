#include "server/chunked_body.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace deepinfer::server {
namespace {

constexpr size_t kMaxSizeLine = 256;
constexpr size_t kMaxSizeDigits = 8;
constexpr size_t kMaxTrailerBytes = 4096;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

void ChunkedDecoder::fail(int http_status, std::string message) {
  refusal_ = refuse(http_status, std::move(message));
}

size_t ChunkedDecoder::feed(std::string_view input, std::string& body) {
  size_t used = 0;
  while (used < input.size() && !done() && !refusal_) {
    const std::string_view rest = input.substr(used);
    switch (state_) {
      case State::kData:
        used += take_data(rest, body);
        break;
      case State::kDataEnd:
        used += take_line(rest, 0, body);
        break;
      case State::kSizeLine:
        used += take_line(rest, kMaxSizeLine, body);
        break;
      default:
        used += take_line(rest, kMaxTrailerBytes - trailer_bytes_, body);
        break;
    }
  }
  return used;
}

size_t ChunkedDecoder::take_data(std::string_view input, std::string& body) {
  const auto taken = static_cast<size_t>(std::min<uint64_t>(remaining_, input.size()));
  body.append(input.substr(0, taken));
  remaining_ -= taken;
  if (remaining_ == 0) {
    state_ = State::kDataEnd;
  }
  return taken;
}

// Collects one line, at most `max_line` bytes before its CR LF.
size_t ChunkedDecoder::take_line(std::string_view input, size_t max_line, std::string& body) {
  for (size_t i = 0; i < input.size(); ++i) {
    const char c = input[i];
    const bool after_return = !line_.empty() && line_.back() == '\r';
    if (c == '\n' && after_return) {
      line_.pop_back();
      end_line(body);
      return i + 1;
    }
    if (after_return || c == '\n' || (c != '\r' && line_.size() >= max_line)) {
      fail(400, state_ == State::kDataEnd ? "a chunk is longer than its size says"
                                          : "a line of the chunked body is malformed or too long");
      return i + 1;
    }
    line_.push_back(c);
  }
  return input.size();
}

void ChunkedDecoder::end_line(std::string& body) {
  switch (state_) {
    case State::kSizeLine:
      start_chunk(body);
      break;
    case State::kDataEnd:
      state_ = State::kSizeLine;
      break;
    default:
      trailer_bytes_ = std::min(trailer_bytes_ + line_.size(), kMaxTrailerBytes);
      state_ = line_.empty() ? State::kDone : State::kTrailer;
      break;
  }
  line_.clear();
}

void ChunkedDecoder::start_chunk(const std::string& body) {
  const auto digits_end = std::find_if_not(line_.begin(), line_.end(), is_hex);
  const auto digits = static_cast<size_t>(digits_end - line_.begin());
  const bool ends_well = digits_end == line_.end() || *digits_end == ';';
  if (digits == 0 || digits > kMaxSizeDigits || !ends_well) {
    fail(400, "a chunk size is not 1 to 8 hexadecimal digits");
    return;
  }
  std::from_chars(line_.data(), line_.data() + digits, remaining_, 16);
  if (remaining_ > max_bytes_ - body.size()) {
    fail(413, fmt::format("the request body is larger than {} bytes", max_bytes_));
    return;
  }
  state_ = remaining_ == 0 ? State::kTrailer : State::kData;
}

}  // namespace deepinfer::server
