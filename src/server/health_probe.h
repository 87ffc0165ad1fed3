#pragma once

/// `--check-health`: asks a running server, for container health checks without curl.

#include "deepinfer/config.h"
#include "deepinfer/status.h"

namespace deepinfer::server {

/// OK if `/health` at the configured address answers 200.
Status probe_health(const HttpConfig& config);

}  // namespace deepinfer::server
