#include "server/sse_writer.h"

namespace deepinfer::server {

std::string sse_text(const std::vector<protocol::Event>& events) {
  std::string text;
  for (const protocol::Event& event : events) {
    if (!event.name.empty()) {
      text.append("event: ").append(event.name).append("\n");
    }
    text.append("data: ").append(event.data).append("\n\n");
  }
  return text;
}

SseWriter::SseWriter(httplib::DataSink& sink) : sink_(sink), last_write_(base::steady_now()) {}

bool SseWriter::write(const std::vector<protocol::Event>& events) {
  return events.empty() || send(sse_text(events));
}

bool SseWriter::write_keep_alive() {
  return send(": keep-alive\n\n");
}

bool SseWriter::send(const std::string& text) {
  last_write_ = base::steady_now();
  return sink_.write(text.data(), text.size());
}

}  // namespace deepinfer::server
