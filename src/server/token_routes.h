#pragma once

/// The routes that only count or convert tokens: a body in, one JSON value out.

#include "server/routes.h"
#include "server/service.h"

namespace deepinfer::server {

/// Adds `POST /v1/messages/count_tokens`, `/tokenize` and `/detokenize`. `service` must outlive
/// the table.
void add_token_routes(RouteTable& routes, const Service& service);

}  // namespace deepinfer::server
