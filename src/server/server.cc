#include "server/server.h"

#include <utility>

#include "server/completion_route.h"
#include "server/health_route.h"
#include "server/metrics_route.h"
#include "server/models_route.h"
#include "server/token_routes.h"

namespace deepinfer::server {

Result<std::unique_ptr<Server>> Server::listen(const HttpConfig& config, Service& service,
                                               const HttpTuning& tuning, std::vector<Route> extra) {
  DI_ASSIGN(Listener listener, open_listener(config.host, config.port));
  std::unique_ptr<Server> server(new Server(config, service));
  RouteTable routes(config.api_keys);
  add_health_routes(routes, service);
  add_metrics_route(routes, service);
  add_model_routes(routes, service);
  add_completion_routes(routes, service, server->config_);
  add_token_routes(routes, service);
  for (Route& route : extra) {
    routes.add(std::move(route));
  }
  for (const Route& route : routes.routes()) {
    if (route.access == Access::kOpen) {
      server->open_paths_.push_back(route.path);
    }
  }
  server->http_ =
      std::make_unique<HttpServer>(server->config_, tuning, std::move(routes), std::move(listener));
  return server;
}

bool Server::drain(base::TimePoint deadline) {
  service_.begin_drain();
  http_->begin_drain();
  return http_->shutdown(deadline);
}

}  // namespace deepinfer::server
