#pragma once

/// The child process that holds the engine.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "deepinfer/status.h"

namespace deepinfer::process {

/// Where the child finds its end of the socket.
inline constexpr int kEngineSocket = 3;

/// A running child with a socket to it. One thread.
class EngineProcess {
 public:
  /// Starts `command` (program, then arguments). The child inherits stderr and the blocked
  /// signals, and no descriptor but the socket.
  static Result<EngineProcess> spawn(const std::vector<std::string>& command);

  EngineProcess(EngineProcess&&) = default;
  EngineProcess& operator=(EngineProcess&&) = delete;
  /// Kills and reaps what still runs.
  ~EngineProcess();

  int fd() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  /// Waits for the end, kills the child if it has not come within `patience`, and says how it
  /// ended: `ended by signal 11 (Segmentation fault)`. Call once.
  std::string reap(std::chrono::milliseconds patience);

 private:
  EngineProcess(pid_t pid, base::UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_;
  base::UniqueFd socket_;
  bool reaped_ = false;
};

/// In the child: dies when the thread that started it does, so that no engine outlives its front.
void die_with_parent();

}  // namespace deepinfer::process
