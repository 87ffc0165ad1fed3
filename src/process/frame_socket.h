#pragma once

/// Length-prefixed frames over a stream socket.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::process {

/// Larger ones are refused on both ends. A prompt of a million tokens takes five million bytes.
inline constexpr uint32_t kMaxFrameBytes = 64U * 1024 * 1024;

/// Writes one frame: the length, four bytes, lowest first, then the bytes. Waits for room.
/// kUnavailable when the other end is gone. One thread at a time.
Status send_frame(int fd, std::string_view bytes);

/// Joins what arrives into frames. One thread.
class FrameReader {
 public:
  /// Takes what the socket holds, waiting until there is something. False at its end.
  /// kInvalidArgument for a length that is not allowed, kUnavailable for a broken socket.
  Result<bool> receive(int fd);
  /// The frames that are complete, oldest first.
  std::vector<std::string> take();

 private:
  std::string buffer_;
  size_t begin_ = 0;
};

}  // namespace deepinfer::process
