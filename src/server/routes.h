#pragma once

/// The table of routes: literal paths, a handler each, and who may call. Requests are matched
/// here, before their body is read; no regular expression ever sees a path.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/exchange.h"
#include "server/refusal.h"
#include "server/request_head.h"

namespace deepinfer::server {

/// Everything needs a key unless it says otherwise.
enum class Access { kKey, kOpen };

struct Route {
  using Handler = std::function<void(Exchange&, httplib::Response&)>;

  /// GET or POST; HEAD follows GET.
  std::string method;
  std::string path;
  Handler handler;
  Access access = Access::kKey;
  /// `path` ends with `/` and stands for everything below it.
  bool prefix = false;
  /// Answered even when every worker is busy; must be quick.
  bool when_busy = false;
  /// May take long: a drain waits for it.
  bool long_running = false;
};

/// Answers OPTIONS.
struct Preflight {
  std::string allow;
};

/// What a request asks for.
using Target = std::variant<const Route*, Preflight, Refusal>;

/// Filled before serving, constant afterwards.
class RouteTable {
 public:
  explicit RouteTable(std::vector<std::string> api_keys) : api_keys_(std::move(api_keys)) {}

  void add(Route route) { routes_.push_back(std::move(route)); }

  /// The route of a request. Refuses with 401 without a valid key (unknown paths too), 404 for an
  /// unknown path, 405 with the allowed methods for a wrong method, and 503 when `shed` and the
  /// route takes time. One trailing slash is ignored.
  Target resolve(const RequestHead& head, bool shed) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<const Route*> at_path(std::string_view path) const;

  const std::vector<std::string> api_keys_;
  std::vector<Route> routes_;
};

}  // namespace deepinfer::server
