#pragma once

/// Alive and ready, for probes: no key, no locks that loading or a step may hold.

#include "server/routes.h"
#include "server/service.h"

namespace deepinfer::server {

/// Adds `/livez`, `/readyz`, `/health`, their aliases, `/version` and `/`.
void add_health_routes(RouteTable& routes, const Service& service);

}  // namespace deepinfer::server
