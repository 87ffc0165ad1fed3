#pragma once

/// Errors in the shape of the Messages protocol.

#include <string>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::protocol {

/// `not_found_error` and so on, by the kind of failure.
std::string_view messages_error_type(const Status& status);

/// `{"type": "error", "error": {"type", "message"}}`, with `param` and `code` inside and
/// `request_id` beside it where they are known.
std::string messages_error_body(std::string_view type, const Status& status,
                                std::string_view request_id = {});

}  // namespace deepinfer::protocol
