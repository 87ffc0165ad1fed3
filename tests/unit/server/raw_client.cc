#include "raw_client.h"

#include <netdb.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace deepinfer::server::testing {

std::string RawResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

RawClient::RawClient(int port, const std::string& host, int receive_buffer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  base::UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (receive_buffer > 0) {
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0) {
    socket_ = std::move(fd);
  }
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawClient::read_more() {
  char data[16384];
  const ssize_t received = ::recv(socket_.get(), data, sizeof(data), 0);
  if (received <= 0) {
    return false;
  }
  buffer_.append(data, static_cast<size_t>(received));
  return true;
}

bool RawClient::read_until(std::string_view text) {
  while (buffer_.find(text) == std::string::npos) {
    if (!read_more()) {
      return false;
    }
  }
  return true;
}

bool RawClient::wait_for_close() {
  errno = 0;
  while (read_more()) {
  }
  was_reset_ = errno == ECONNRESET;
  return errno != EAGAIN && errno != EWOULDBLOCK;
}

std::optional<std::string> RawClient::take_line() {
  if (!read_until("\r\n")) {
    return std::nullopt;
  }
  const size_t end = buffer_.find("\r\n");
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

bool RawClient::take_bytes(size_t count, std::string& out) {
  while (buffer_.size() < count) {
    if (!read_more()) {
      return false;
    }
  }
  out.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

bool RawClient::take_chunks(std::string& out) {
  for (;;) {
    const auto line = take_line();
    if (!line) {
      return false;
    }
    const size_t size = std::stoul(*line, nullptr, 16);
    std::string end;
    if (!take_bytes(size, out) || !take_bytes(2, end)) {
      return false;
    }
    if (size == 0) {
      return true;
    }
  }
}

std::optional<RawResponse> RawClient::read_response(bool head_only) {
  auto line = take_line();
  if (!line || line->compare(0, 7, "HTTP/1.") != 0) {
    return std::nullopt;
  }
  RawResponse response;
  response.status = std::stoi(line->substr(9, 3));
  while ((line = take_line()) && !line->empty()) {
    const size_t colon = line->find(':');
    std::string name = line->substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    response.headers.emplace(name, line->substr(colon + 2));
  }
  if (head_only || response.status == 100) {
    response.complete = true;
  } else if (response.header("transfer-encoding") == "chunked") {
    response.complete = take_chunks(response.body);
  } else if (!response.header("content-length").empty()) {
    response.complete = take_bytes(std::stoul(response.header("content-length")), response.body);
  } else {
    wait_for_close();
    response.body.swap(buffer_);
  }
  return response;
}

void RawClient::half_close() {
  ::shutdown(socket_.get(), SHUT_WR);
}

void RawClient::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

std::string post_text(std::string_view path, std::string_view body,
                      std::string_view extra_headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n{}\r\n{}",
      path, body.size(), extra_headers, body);
}

std::string get_text(std::string_view path, std::string_view extra_headers,
                     std::string_view method) {
  return fmt::format("{} {} HTTP/1.1\r\nHost: test\r\n{}\r\n", method, path, extra_headers);
}

}  // namespace deepinfer::server::testing
