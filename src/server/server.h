#pragma once

/// The whole front end: every route over one service, behind one port.

#include <memory>
#include <vector>

#include "base/clock.h"
#include "deepinfer/config.h"
#include "server/http_server.h"
#include "server/routes.h"
#include "server/service.h"

namespace deepinfer::server {

/// Answers from `start` on: probes at once, the rest when `service` serves.
class Server {
 public:
  /// Takes the port. Errors as `open_listener`. `service` must outlive the server; `extra` routes
  /// come on top of ours.
  static Result<std::unique_ptr<Server>> listen(const HttpConfig& config, Service& service,
                                                const HttpTuning& tuning = {},
                                                std::vector<Route> extra = {});

  void start() { http_->start(); }
  /// Readiness turns 503, new work is refused; running requests go on until `deadline`, then
  /// end with an error. Returns when the port is closed and all have ended; false if one went on
  /// all the same, for which the destructor would wait.
  bool drain(base::TimePoint deadline);

  HttpServer& http() { return *http_; }
  /// Paths that need no key, for the log.
  std::vector<std::string> open_paths() const { return open_paths_; }

 private:
  Server(const HttpConfig& config, Service& service) : config_(config), service_(service) {}

  const HttpConfig config_;
  Service& service_;
  std::vector<std::string> open_paths_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace deepinfer::server
