#pragma once

/// One client connection. All bytes of a client pass through `read` and `write` here, so
/// encryption has one place to go.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace deepinfer::server {

struct PeerAddress {
  std::string ip;
  int port = 0;
};

/// The poll thread uses it while it is parked, one worker while a request runs; never both.
/// `gone`, `set_gone` and `shutdown_socket` are thread-safe.
class Connection {
 public:
  enum class Read { kData, kNothing, kClosed };

  /// Takes a non-blocking socket.
  Connection(uint64_t id, base::UniqueFd socket, PeerAddress peer);

  uint64_t id() const { return id_; }
  int fd() const { return socket_.get(); }
  const PeerAddress& peer() const { return peer_; }

  /// Appends at most `max_bytes` that have arrived to `out`, without waiting.
  Read read(std::string& out, size_t max_bytes);
  /// As `read`, but waits for something until `deadline` (then kNothing).
  Read read_before(std::string& out, size_t max_bytes, base::TimePoint deadline);
  /// Sends all of `data`; gives up at `deadline` or when the client has gone. After a failure
  /// nothing more is sent.
  bool write(std::string_view data, base::TimePoint deadline);

  /// Bytes that arrived and belong to no request yet.
  std::string& input() { return input_; }

  /// Bytes wait that nobody has read: in `input` or still in the socket.
  bool has_unread() const;

  /// Gives back the memory of an empty input; thousands of connections may be idle.
  void trim_input();

  /// The client closed its side, or the connection broke.
  bool gone() const { return gone_.load(std::memory_order_acquire); }
  void set_gone() { gone_.store(true, std::memory_order_release); }
  bool write_failed() const { return write_failed_; }

  /// The thread that serves it now is one of few: waiting for this client ends soon.
  void set_hurried(bool hurried) { hurried_ = hurried; }

  /// Ends both directions; a blocked read or write returns.
  void shutdown_socket();
  /// Sends FIN, then reads away what the client still sends (bounded in bytes and time): closing
  /// over unread bytes would make the client see a reset instead of the answer.
  void finish_and_drain();

 private:
  const uint64_t id_;
  const base::UniqueFd socket_;
  const PeerAddress peer_;
  std::string input_;
  bool hurried_ = false;
  bool write_failed_ = false;
  std::atomic<bool> gone_{false};
};

}  // namespace deepinfer::server
