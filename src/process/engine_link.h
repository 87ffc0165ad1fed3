#pragma once

/// The way of messages to an engine process.

#include <atomic>
#include <string>

#include "base/channel.h"
#include "base/thread.h"
#include "process/message.h"

namespace deepinfer::process {

/// Sends on a thread of its own, so that an engine that does not read holds up nobody.
class EngineLink {
 public:
  /// `fd` must stay open as long as the link.
  explicit EngineLink(int fd);
  /// Closes the socket for both directions and drops what has not been sent.
  ~EngineLink();

  /// Queues a message; it is lost if the engine is. Never waits. Thread-safe.
  void send(const ToEngine& message) { send_encoded(encode(message)); }
  void send_encoded(std::string bytes);
  /// Ends both directions: the engine process sees its front go.
  void hang_up();

 private:
  void run();

  const int fd_;
  base::Channel<std::string> outbox_;
  base::NamedThread thread_;
};

}  // namespace deepinfer::process
