#include "server/routes.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "server/access.h"
#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

std::string allowed_methods(const std::vector<const Route*>& routes) {
  std::string allow;
  for (const Route* route : routes) {
    allow += route->method + (route->method == "GET" ? ", HEAD, " : ", ");
  }
  return allow + "OPTIONS";
}

std::string_view without_trailing_slash(std::string_view path) {
  if (path.size() > 1 && path.back() == '/') {
    path.remove_suffix(1);
  }
  return path;
}

Refusal refusal_of(const Status& status) {
  return {http_error(status).http_status, status, {}};
}

Refusal busy() {
  return refusal_of(resource_exhausted("the server is working on as many requests as it can")
                        .with_reason(std::string(kReasonOverloaded)));
}

}  // namespace

std::vector<const Route*> RouteTable::at_path(std::string_view path) const {
  std::vector<const Route*> found;
  for (const Route& route : routes_) {
    const bool below = route.prefix && path.size() > route.path.size() &&
                       path.substr(0, route.path.size()) == route.path;
    if (below || (!route.prefix && path == route.path)) {
      found.push_back(&route);
    }
  }
  return found;
}

Target RouteTable::resolve(const RequestHead& head, bool shed) const {
  const auto candidates = at_path(without_trailing_slash(head.path));
  if (head.method == "OPTIONS") {
    return Preflight{candidates.empty() ? "GET, HEAD, POST, OPTIONS" : allowed_methods(candidates)};
  }
  const std::string_view method = head.method == "HEAD" ? std::string_view("GET") : head.method;
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [method](const Route* route) { return route->method == method; });
  const bool open = std::any_of(candidates.begin(), candidates.end(),
                                [](const Route* route) { return route->access == Access::kOpen; });
  if (const Status key = open ? Status::ok() : check_api_key(head, api_keys_); !key.is_ok()) {
    return refusal_of(key);
  }
  if (candidates.empty()) {
    return refusal_of(not_found(fmt::format("there is nothing at {}", head.path)));
  }
  if (found == candidates.end()) {
    return Refusal{405,
                   invalid_argument(fmt::format("{} is not allowed at {}", head.method, head.path)),
                   allowed_methods(candidates)};
  }
  if (shed && !(*found)->when_busy) {
    return busy();
  }
  return *found;
}

}  // namespace deepinfer::server
