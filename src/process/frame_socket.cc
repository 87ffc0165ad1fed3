#include "process/frame_socket.h"

#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace deepinfer::process {
namespace {

constexpr size_t kPrefixBytes = 4;
constexpr size_t kReadBytes = 64 * 1024;

Status broken(const char* what) {
  return unavailable(fmt::format("{}: {}", what, std::strerror(errno)));
}

std::array<char, kPrefixBytes> prefix_of(uint32_t size) {
  std::array<char, kPrefixBytes> prefix{};
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    prefix[i] = static_cast<char>((size >> (8 * i)) & 0xFF);
  }
  return prefix;
}

// The size of the frame that begins with `bytes`, once its prefix is there.
std::optional<uint32_t> frame_size(std::string_view bytes) {
  if (bytes.size() < kPrefixBytes) {
    return std::nullopt;
  }
  uint32_t size = 0;
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    size |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return size;
}

}  // namespace

Status send_frame(int fd, std::string_view bytes) {
  if (bytes.size() > kMaxFrameBytes) {
    return invalid_argument(fmt::format("a message of {} bytes is too large", bytes.size()));
  }
  auto prefix = prefix_of(static_cast<uint32_t>(bytes.size()));
  size_t sent = 0;
  while (sent < kPrefixBytes + bytes.size()) {
    std::array<iovec, 2> parts{};
    size_t num_parts = 0;
    if (sent < kPrefixBytes) {
      parts.at(num_parts++) = {prefix.data() + sent, kPrefixBytes - sent};
    }
    const size_t body_sent = sent < kPrefixBytes ? 0 : sent - kPrefixBytes;
    // sendmsg only reads what it is given.
    parts.at(num_parts++) = {const_cast<char*>(bytes.data()) + body_sent, bytes.size() - body_sent};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = num_parts;
    const ssize_t count = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) {
      return broken("cannot write to the other process");
    }
    sent += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return Status::ok();
}

Result<bool> FrameReader::receive(int fd) {
  const size_t size = buffer_.size();
  buffer_.resize(size + kReadBytes);
  ssize_t count = 0;
  do {
    count = ::recv(fd, buffer_.data() + size, kReadBytes, 0);
  } while (count < 0 && errno == EINTR);
  buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) {
    return broken("cannot read from the other process");
  }
  const auto next = frame_size(std::string_view(buffer_).substr(begin_));
  if (next && *next > kMaxFrameBytes) {
    return invalid_argument(fmt::format("a frame of {} bytes is too large", *next));
  }
  return count > 0;
}

std::vector<std::string> FrameReader::take() {
  std::vector<std::string> frames;
  for (;;) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    const auto size = frame_size(rest);
    if (!size || rest.size() - kPrefixBytes < *size) {
      break;
    }
    frames.emplace_back(rest.substr(kPrefixBytes, *size));
    begin_ += kPrefixBytes + *size;
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  return frames;
}

}  // namespace deepinfer::process
