#pragma once

/// A request for raw completions (`/v1/completions`) as it stands in the body: types checked,
/// ranges and meaning not yet.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "protocol/chat/chat_request.h"
#include "protocol/recipe_policy.h"

namespace deepinfer::protocol {

/// Text, or tokens that are taken as they are.
using CompletionPrompt = std::variant<std::string, std::vector<TokenId>>;

struct CompletionsRequest {
  /// Members that chat requests have too.
  ChatRequest common;
  std::vector<CompletionPrompt> prompts;
  bool echo = false;
  /// Most likely tokens to list for each one generated.
  std::optional<uint8_t> logprobs;
  std::optional<uint8_t> best_of;
  /// Put the token that begins a document in front of text prompts.
  bool add_special_tokens = false;
  bool return_token_ids = false;
};

/// Reads a body. kInvalidArgument, with the member as param, if it is not JSON, not of this
/// shape, or asks for what a completion cannot have.
Result<CompletionsRequest> parse_completions_request(std::string_view body,
                                                     const RecipePolicy& policy);

}  // namespace deepinfer::protocol
