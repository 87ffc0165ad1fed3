#pragma once

/// The routes that generate: body in, a plain answer or a stream out.

#include <chrono>

#include "deepinfer/config.h"
#include "server/routes.h"
#include "server/service.h"

namespace deepinfer::server {

/// Adds `POST` at `/v1/chat/completions`, `/v1/messages`, `/v1/responses` and
/// `/v1/completions`. `service` and `config` must outlive the table.
void add_completion_routes(RouteTable& routes, const Service& service, const HttpConfig& config);

}  // namespace deepinfer::server
