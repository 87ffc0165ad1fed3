#pragma once

/// `guided_*` and `structured_outputs`, the fields by which vLLM's clients ask for structured
/// output.

#include <string_view>
#include <type_traits>

#include "protocol/chat/chat_request.h"
#include "protocol/field_reader.h"

namespace deepinfer::protocol {

/// Each sets `request.guided`; a second one in the same request is refused.
Status read_guided_json(const Json& value, const ReadContext& context, ChatRequest& request);
Status read_guided_regex(const Json& value, const ReadContext& context, ChatRequest& request);
Status read_guided_grammar(const Json& value, const ReadContext& context, ChatRequest& request);
Status read_guided_choice(const Json& value, const ReadContext& context, ChatRequest& request);
/// An object with one of `json`, `regex`, `grammar`, `choice` and `json_object`.
Status read_structured_outputs(const Json& value, const ReadContext& context, ChatRequest& request);

/// A row for one of them, in a chat request or in what holds one as `common`.
template <typename Request, auto Read>
constexpr Field<Request> guided_field(std::string_view name) {
  return {name,
          [](const Json& value, const ReadContext& context, Request& request) {
            if constexpr (std::is_same_v<Request, ChatRequest>) {
              return Read(value, context, request);
            } else {
              return Read(value, context, request.common);
            }
          },
          Presence::kOptional, &RecipePolicy::sampling_extensions};
}

}  // namespace deepinfer::protocol
