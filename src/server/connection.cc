#include "server/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWriteSlice{200};
constexpr size_t kIdleInputBytes = 1024;
constexpr size_t kDrainBytes = 1 << 20;
constexpr milliseconds kDrainTime{300};
constexpr milliseconds kHurriedDrainTime{20};
constexpr milliseconds kHurriedWriteTime{1000};

// Waits for `events` at most `limit`; false if nothing happened.
bool wait_for_events(int fd, short events, milliseconds limit) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  const int timeout_ms = static_cast<int>(std::clamp<int64_t>(limit.count(), 0, 3'600'000));
  return ::poll(&entry, 1, timeout_ms) > 0;
}

}  // namespace

Connection::Connection(uint64_t id, base::UniqueFd socket, PeerAddress peer)
    : id_(id), socket_(std::move(socket)), peer_(std::move(peer)) {}

Connection::Read Connection::read(std::string& out, size_t max_bytes) {
  const size_t old_size = out.size();
  out.resize(old_size + max_bytes);
  ssize_t received = 0;
  do {
    received = ::recv(fd(), out.data() + old_size, max_bytes, MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  const int error = errno;
  out.resize(old_size + static_cast<size_t>(std::max<ssize_t>(received, 0)));
  if (received > 0) return Read::kData;
  return received < 0 && (error == EAGAIN || error == EWOULDBLOCK) ? Read::kNothing : Read::kClosed;
}

Connection::Read Connection::read_before(std::string& out, size_t max_bytes,
                                         base::TimePoint deadline) {
  for (;;) {
    const Read result = read(out, max_bytes);
    if (result != Read::kNothing) {
      return result;
    }
    const milliseconds left = base::time_until(deadline);
    if (left.count() <= 0) {
      return Read::kNothing;
    }
    wait_for_events(fd(), POLLIN, left);
  }
}

bool Connection::write(std::string_view data, base::TimePoint deadline) {
  if (hurried_) {
    deadline = std::min(deadline, base::steady_now() + kHurriedWriteTime);
  }
  while (!data.empty() && !write_failed_) {
    const ssize_t sent = ::send(fd(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      data.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) {
      continue;
    }
    const bool full = errno == EAGAIN || errno == EWOULDBLOCK;
    const milliseconds left = base::time_until(deadline);
    if (!full || gone() || left.count() <= 0) {
      write_failed_ = true;
      break;
    }
    wait_for_events(fd(), POLLOUT, std::min(left, kWriteSlice));
  }
  return !write_failed_;
}

bool Connection::has_unread() const {
  char byte = 0;
  return !input_.empty() || ::recv(fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void Connection::trim_input() {
  if (input_.empty() && input_.capacity() > kIdleInputBytes) {
    std::string().swap(input_);
  }
}

void Connection::shutdown_socket() {
  ::shutdown(fd(), SHUT_RDWR);
}

void Connection::finish_and_drain() {
  ::shutdown(fd(), SHUT_WR);
  const base::TimePoint deadline = base::steady_now() + (hurried_ ? kHurriedDrainTime : kDrainTime);
  std::string waste;
  size_t total = input_.size();
  while (total < kDrainBytes && read_before(waste, size_t{64} * 1024, deadline) == Read::kData) {
    total += waste.size();
    waste.clear();
  }
}

}  // namespace deepinfer::server
