#include "server/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace deepinfer::server {
namespace {

constexpr int kBacklog = 4096;
constexpr int kKeepAliveIdle_s = 15;
constexpr int kKeepAliveInterval_s = 5;
constexpr int kKeepAliveProbes = 3;
constexpr int kUserTimeout_ms = 20'000;
constexpr std::string_view kUnixPrefix = "unix:";

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

// Accepted sockets inherit these, so they are set once here. No SO_REUSEPORT: a second server
// on the port must fail, not share it.
void set_tcp_options(int fd, int family) {
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeout_ms);
  if (family == AF_INET6) {
    set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
}

std::string display_address(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Status cannot_listen(const std::string& address, int error) {
  return unavailable(
      fmt::format("cannot listen on {}: {}", address,
                  error == EADDRINUSE ? "address already in use" : std::strerror(error)));
}

// An invalid descriptor if it cannot be had; `errno` says why.
base::UniqueFd bound_socket(const sockaddr* address, socklen_t size) {
  base::UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return fd;
  }
  if (address->sa_family != AF_UNIX) {
    set_tcp_options(fd.get(), address->sa_family);
  }
  if (::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    fd = base::UniqueFd();
    errno = error;
  }
  return fd;
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// A socket file that refuses connections is a leftover; any other file is not ours to remove.
void remove_leftover(const sockaddr_un& address) {
  struct stat info {};
  if (::stat(address.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return;
  }
  const base::UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.valid() &&
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
      errno == ECONNREFUSED) {
    ::unlink(address.sun_path);  // if that fails, so does `bind`, which says why
  }
}

Result<Listener> open_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return invalid_argument(fmt::format("--uds: a path of 1 to {} bytes is needed, got {}",
                                        sizeof(address.sun_path) - 1, path.size()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Listener listener;
  listener.address = std::string(kUnixPrefix) + path;
  remove_leftover(address);
  base::UniqueFd fd = bound_socket(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (!fd.valid()) {
    return cannot_listen(listener.address, errno);
  }
  listener.sockets.push_back(std::move(fd));
  return listener;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  int code = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  if (code != 0 && host == "localhost") {
    // Small containers have no hosts file; the name means the loopback address all the same.
    code = ::getaddrinfo("127.0.0.1", service.c_str(), &hints, &found);
  }
  if (code != 0) {
    return invalid_argument(
        fmt::format("--host: '{}' has no address: {}", host, ::gai_strerror(code)));
  }
  return AddressList(found, &::freeaddrinfo);
}

// The second address of a name gets the port that the kernel chose for the first.
void set_port(sockaddr* address, int port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
  }
}

}  // namespace

Result<Listener> open_listener(const std::string& host, int port) {
  if (host.compare(0, kUnixPrefix.size(), kUnixPrefix) == 0) {
    return open_unix(host.substr(kUnixPrefix.size()));
  }
  DI_ASSIGN(const AddressList addresses, resolve(host, port));
  Listener listener;
  listener.port = port;
  Status first_failure;
  bool taken = false;
  for (addrinfo* entry = addresses.get(); entry != nullptr; entry = entry->ai_next) {
    set_port(entry->ai_addr, listener.port);
    base::UniqueFd fd = bound_socket(entry->ai_addr, entry->ai_addrlen);
    if (!fd.valid()) {
      const int error = errno;
      taken = taken || error == EADDRINUSE;
      if (first_failure.is_ok()) {
        first_failure = cannot_listen(display_address(host, listener.port), error);
      }
      continue;
    }
    listener.port = port_of(fd.get());
    listener.sockets.push_back(std::move(fd));
  }
  // A machine without IPv6 may list ::1 for localhost all the same; a taken port never passes.
  if (listener.sockets.empty() || taken) {
    return first_failure;
  }
  listener.address = display_address(host, listener.port);
  return listener;
}

}  // namespace deepinfer::server
