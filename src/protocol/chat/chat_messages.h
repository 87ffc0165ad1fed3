#pragma once

/// The messages of a chat request, checked and converted (recipe spec §3, "Messages").

#include <vector>

#include "deepinfer/status.h"
#include "protocol/conversion.h"

namespace deepinfer::protocol {

/// What reading the messages needs to know of the request.
struct MessageContext {
  recipe::Encoding encoding = recipe::Encoding::kV41;
  bool thinking = true;
  const RecipePolicy& policy;
};

Result<std::vector<recipe::ChatMessage>> convert_messages(
    const std::vector<RequestMessage>& messages, const MessageContext& context);

/// Refuses assistant messages after the last user message whose reasoning was not passed back:
/// those with tool calls, or all if the request has tools.
Status check_reasoning_passed_back(const std::vector<RequestMessage>& messages, bool has_tools);

/// True if `json`, in any case, is in the text of some message.
bool mentions_json(const std::vector<RequestMessage>& messages);

}  // namespace deepinfer::protocol
