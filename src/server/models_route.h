#pragma once

/// The list of models, and one of them by name.

#include "server/routes.h"
#include "server/service.h"

namespace deepinfer::server {

/// Adds `GET /v1/models` and `GET /v1/models/{id}`; both 503 until the model is ready.
void add_model_routes(RouteTable& routes, const Service& service);

}  // namespace deepinfer::server
