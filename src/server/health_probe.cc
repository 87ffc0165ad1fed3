#include "server/health_probe.h"

#include <httplib.h>
#include <spdlog/fmt/fmt.h>

#include <string>

namespace deepinfer::server {
namespace {

// A server that listens everywhere is asked on the loopback.
std::string address_to_ask(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  if (host == "::") return "::1";
  return host;
}

httplib::Client client_for(const HttpConfig& config) {
  if (config.host.compare(0, 5, "unix:") == 0) {
    httplib::Client client(config.host.substr(5), 80);
    client.set_address_family(AF_UNIX);
    return client;
  }
  return httplib::Client(address_to_ask(config.host), config.port);
}

}  // namespace

Status probe_health(const HttpConfig& config) {
  httplib::Client client = client_for(config);
  client.set_connection_timeout(2);
  client.set_read_timeout(2);
  const httplib::Result result = client.Get("/health");
  if (!result) {
    return unavailable(fmt::format("no answer from {} port {}", config.host, config.port));
  }
  return result->status == 200
             ? Status::ok()
             : unavailable(fmt::format("HTTP {}: {}", result->status, result->body));
}

}  // namespace deepinfer::server
