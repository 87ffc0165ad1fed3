#pragma once

/// A recipe over the V4.1 tokenizer, and chat completions played from scripted model output.

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/completion.h"
#include "recipe/json_reader.h"
#include "recipe/output_parser.h"
#include "recipe/recipe.h"

namespace deepinfer::protocol::test {

using Json = recipe::Json;

const recipe::Recipe& v41_recipe();

/// A service of the model `m` with a context of 100,000 tokens.
ServiceInfo service();

/// `{"model": "m", "messages": [user "Hi"]}` with the members of `extra` over it.
std::string chat_body(const Json& extra = Json::object());

/// Prepares a body under the server's policy; the test fails if it is refused.
PreparedCompletion prepare(const std::string& body);
/// The refusal of a body; the test fails if it is accepted.
Status refusal(const std::string& body);
/// The text of the prompt that a body leads to.
std::string prompt_of(const PreparedCompletion& prepared);

/// Token ids of model output in which control tokens are spelled: `<think>`, `</think>` and
/// the DSML mark become their ids.
std::vector<TokenId> script(const std::string& text);

/// What a client sees of one completion.
struct Played {
  std::vector<Json> chunks;
  bool done_event = false;
  Json response;

  /// Joined deltas of choice 0.
  std::string content;
  std::string reasoning;
  std::vector<std::string> arguments;
  std::vector<std::string> names;
  std::vector<std::string> ids;
  std::vector<std::string> finish_reasons;

  const Json& message() const { return response["choices"][0]["message"]; }
};

/// Feeds `tokens` in outputs of `group` tokens (0: all at once) and ends with `finish`.
Played play(const Json& request, const std::vector<TokenId>& tokens, size_t group = 1,
            FinishReason finish = FinishReason::kStop);

/// Reads a chunk list into the joined view.
void join(Played& played);

}  // namespace deepinfer::protocol::test
