#pragma once

/// The engine's side of a request: sampling members beyond the reference, checked against the
/// model.

#include <optional>

#include "deepinfer/llm.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "protocol/chat/chat_request.h"
#include "protocol/conversion.h"

namespace deepinfer::protocol {

/// What the converted request alone says.
GenerateRequest make_engine_request(const ConvertedRequest& converted);

/// -1, like 0, keeps all tokens; less is refused.
Status set_top_k(std::optional<int32_t> given, GenerateRequest& target);

/// A request for one choice, without its prompt and limits. kInvalidArgument names the member
/// or the key at fault.
Result<GenerateRequest> make_engine_request(const ChatRequest& request,
                                            const ConvertedRequest& converted,
                                            const ModelInfo& model);

}  // namespace deepinfer::protocol
