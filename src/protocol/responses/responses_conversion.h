#pragma once

/// Responses request → conversation and options (recipe spec §10).

#include "protocol/conversion.h"
#include "protocol/responses/responses_request.h"
#include "protocol/responses/tool_names.h"

namespace deepinfer::protocol {

struct ConvertedResponses {
  ConvertedRequest request;
  CallNames names;
};

/// Checks and converts; message, param and reason of a failure are what the client sees.
Result<ConvertedResponses> convert_responses_request(const ResponsesRequest& request,
                                                     const ConversionOptions& options,
                                                     const RecipePolicy& policy);

}  // namespace deepinfer::protocol
