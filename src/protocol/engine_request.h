#pragma once

/// The engine's side of a chat request: sampling members beyond the reference, checked
/// against the model.

#include "deepinfer/llm.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "protocol/chat/chat_request.h"
#include "protocol/conversion.h"

namespace deepinfer::protocol {

/// A request for one choice, without its prompt and limits. kInvalidArgument names the member
/// or the key at fault.
Result<GenerateRequest> make_engine_request(const ChatRequest& request,
                                            const ConvertedRequest& converted,
                                            const ModelInfo& model);

}  // namespace deepinfer::protocol
