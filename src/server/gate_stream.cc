#include "server/gate_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace deepinfer::server {

GateStream::GateStream(Connection& connection, std::string head,
                       std::chrono::milliseconds write_timeout)
    : connection_(connection), head_(std::move(head)), write_timeout_(write_timeout) {}

ssize_t GateStream::read(char* data, size_t size) {
  const size_t count = std::min(size, head_.size() - position_);
  std::memcpy(data, head_.data() + position_, count);
  position_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t GateStream::write(const char* data, size_t size) {
  const base::TimePoint deadline = base::steady_now() + write_timeout_;
  return connection_.write({data, size}, deadline) ? static_cast<ssize_t>(size) : -1;
}

void GateStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = connection_.peer().ip;
  port = connection_.peer().port;
}

// Nothing asks for it; a system call per request would be wasted.
void GateStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace deepinfer::server
