#pragma once

/// Server-sent events as bytes. Everything that one step gave leaves in one write.

#include <httplib.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/completion.h"

namespace deepinfer::server {

/// `event:` line if named, one `data:` line, an empty line.
std::string sse_text(const std::vector<protocol::Event>& events);

/// One stream. The worker's thread only.
class SseWriter {
 public:
  explicit SseWriter(httplib::DataSink& sink);

  /// False when the client is gone or does not read. Nothing is sent for no events.
  bool write(const std::vector<protocol::Event>& events);
  /// A comment line, which keeps proxies and clients from giving up.
  bool write_keep_alive();
  base::TimePoint last_write() const { return last_write_; }

 private:
  bool send(const std::string& text);

  httplib::DataSink& sink_;
  base::TimePoint last_write_;
};

}  // namespace deepinfer::server
