#pragma once

/// The sockets that take new connections. Opened before the model loads, so that a taken
/// port is known at once.

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "deepinfer/status.h"

namespace deepinfer::server {

struct Listener {
  std::vector<base::UniqueFd> sockets;
  /// The port in use; 0 for a Unix socket.
  int port = 0;
  /// What the log says: `127.0.0.1:8000`, `[::1]:8000`, `unix:/run/x.sock`.
  std::string address;
};

/// Listens on every address of `host` (`localhost` may have two, `::` serves both families), or
/// on a Unix socket for `unix:PATH`. Port 0 lets the kernel choose. kUnavailable names the
/// address and the reason when it is taken or not permitted; kInvalidArgument for a host that
/// has no address.
Result<Listener> open_listener(const std::string& host, int port);

}  // namespace deepinfer::server
