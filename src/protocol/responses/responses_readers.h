#pragma once

/// Readers of the larger parts of a Responses request, shared by the files that read it.

#include "protocol/field_reader.h"
#include "protocol/responses/responses_request.h"

namespace deepinfer::protocol {

Status read_value(const Json& value, const ReadContext& context, InputItem& target);

}  // namespace deepinfer::protocol
