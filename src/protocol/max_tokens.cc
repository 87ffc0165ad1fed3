#include <algorithm>
#include <limits>
#include <utility>

#include "protocol/conversion.h"

namespace deepinfer::protocol {
namespace {

Status context_exceeded(uint64_t prompt_tokens, uint64_t requested, uint64_t context_limit,
                        const RecipePolicy& policy) {
  Status status = invalid_argument(
      "This model's maximum context length is " + std::to_string(context_limit) +
      " tokens. However, you requested " + std::to_string(prompt_tokens + requested) + " tokens (" +
      std::to_string(prompt_tokens) + " in the messages, " + std::to_string(requested) +
      " in the completion). Please reduce the length of the messages or completion.");
  return policy.context_length_code
             ? std::move(status).with_param("messages").with_reason("context_length_exceeded")
             : status;
}

uint64_t default_limit(const ConvertedRequest& request) {
  if (!request.conversation.thinking_mode) {
    return 8192;
  }
  return request.conversation.reasoning_effort == recipe::ReasoningEffort::kMax ? 131072 : 65536;
}

}  // namespace

Result<uint32_t> resolve_max_tokens(const ConvertedRequest& request, uint64_t prompt_tokens,
                                    uint64_t context_limit, const RecipePolicy& policy) {
  const std::optional<uint32_t> requested = request.options.max_tokens;
  // A prompt that fills the context leaves no room for one token; the reference lets it pass.
  const uint64_t least = requested ? *requested : (policy.output_to_context_end ? 1 : 0);
  if (prompt_tokens + least > context_limit) {
    return context_exceeded(prompt_tokens, requested.value_or(0), context_limit, policy);
  }
  if (requested) {
    return *requested;
  }
  const uint64_t room = context_limit - prompt_tokens;
  const uint64_t limit = policy.output_to_context_end ? room : default_limit(request);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::min(limit, room), 1, std::numeric_limits<uint32_t>::max()));
}

}  // namespace deepinfer::protocol
