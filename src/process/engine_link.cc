#include "process/engine_link.h"

#include <sys/socket.h>

#include <limits>
#include <utility>

#include "base/log.h"
#include "process/frame_socket.h"

namespace deepinfer::process {

// The outbox needs no bound of its own: it holds a submit and a cancel per request, and the server
// bounds those.
EngineLink::EngineLink(int fd)
    : fd_(fd),
      outbox_(std::numeric_limits<size_t>::max()),
      thread_("di-to-engine", [this] { run(); }) {}

EngineLink::~EngineLink() {
  hang_up();
  thread_.join();
}

void EngineLink::hang_up() {
  outbox_.close();
  ::shutdown(fd_, SHUT_RDWR);  // ends a write that waits
}

void EngineLink::send_encoded(std::string bytes) {
  static_cast<void>(outbox_.try_push(std::move(bytes)));
}

void EngineLink::run() {
  for (;;) {
    const std::vector<std::string> frames = outbox_.wait_drain();
    if (frames.empty()) {
      return;
    }
    for (const std::string& frame : frames) {
      if (const Status sent = send_frame(fd_, frame); !sent.is_ok()) {
        DI_LOG_DEBUG("to the engine: {}", sent.message());
        ::shutdown(fd_, SHUT_RDWR);  // the reader sees the end
        return;
      }
    }
  }
}

}  // namespace deepinfer::process
