#pragma once

/// Messages request -> conversation, engine and parser options (recipe spec §9).

#include <string>

#include "protocol/conversion.h"
#include "protocol/messages/messages_request.h"

namespace deepinfer::protocol {

/// Checks and converts. The failure is that of the first check in the reference's order.
Result<ConvertedRequest> convert_messages_request(const MessagesRequest& request,
                                                  const ConversionOptions& options,
                                                  const RecipePolicy& policy);

}  // namespace deepinfer::protocol
