#pragma once

/// The checks of a request that need the model.

#include "deepinfer/llm.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::scheduler {

/// OK if nothing in `request` can harm a step: ranges (`validate`), every token id within the
/// vocabulary, and room for at least one token after the prompt. kInvalidArgument names the
/// field; reason `context_length_exceeded` for a prompt that is too long.
Status check_request(const GenerateRequest& request, const ModelInfo& model);

}  // namespace deepinfer::scheduler
