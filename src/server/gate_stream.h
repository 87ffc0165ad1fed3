#pragma once

/// What the HTTP library reads from and writes to: a checked head in memory on one side, the
/// connection on the other.

#include <httplib.h>

#include <chrono>
#include <string>

#include "server/connection.h"

namespace deepinfer::server {

/// One request. The worker's thread only.
class GateStream final : public httplib::Stream {
 public:
  GateStream(Connection& connection, std::string head, std::chrono::milliseconds write_timeout);

  bool is_readable() const override { return position_ < head_.size(); }
  bool is_writable() const override { return !connection_.write_failed() && !connection_.gone(); }
  ssize_t read(char* data, size_t size) override;
  ssize_t write(const char* data, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return connection_.fd(); }

 private:
  Connection& connection_;
  const std::string head_;
  const std::chrono::milliseconds write_timeout_;
  size_t position_ = 0;
};

}  // namespace deepinfer::server
