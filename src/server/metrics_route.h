#pragma once

/// `GET /metrics`: the engine's counters in Prometheus' text format, with the field's names.

#include <string>

#include "deepinfer/llm.h"
#include "server/routes.h"
#include "server/service.h"

namespace deepinfer::server {

/// The page. `stats` of a server that is still loading are all zero.
std::string metrics_text(const LlmStats& stats, const std::string& model_name,
                         uint64_t invalid_arguments);

/// Adds the route.
void add_metrics_route(RouteTable& routes, const Service& service);

}  // namespace deepinfer::server
