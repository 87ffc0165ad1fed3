#pragma once

/// Who may call, and how a request is named.

#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "server/request_head.h"

namespace deepinfer::server {

/// Checks `Authorization: Bearer KEY` or `x-api-key: KEY` against the keys, in constant time.
/// Without keys everybody is let in. kUnauthenticated otherwise; the message holds no key.
Status check_api_key(const RequestHead& head, const std::vector<std::string>& keys);

/// The client's `X-Request-Id` if it is 1 to 128 characters of `[A-Za-z0-9._:-]`, else a new
/// random one.
std::string request_id_for(std::string_view from_client);

/// CORS headers for a request from `origin`; none when CORS is off or the origin is not
/// allowed. `*` among `allowed` admits every origin.
std::vector<Header> cors_headers(std::string_view origin, const std::vector<std::string>& allowed);

}  // namespace deepinfer::server
