#pragma once

/// What a body must announce itself as.

#include "server/exchange.h"

namespace deepinfer::server {

/// Answers 415 and returns false unless the body is JSON, or does not say what it is.
bool accept_json_body(const Exchange& exchange, httplib::Response& res);

}  // namespace deepinfer::server
