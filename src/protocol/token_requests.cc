// `/tokenize` and `/detokenize`, with the members that vLLM gave them.

#include <algorithm>
#include <optional>
#include <utility>

#include "protocol/chat/chat_request.h"
#include "protocol/completion.h"
#include "protocol/conversion.h"
#include "protocol/field_reader.h"
#include "protocol/prepared_prompt.h"
#include "recipe/detokenizer.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

constexpr RecipePolicy kPolicy = RecipePolicy::server();

struct TokenizeRequest {
  std::optional<std::string> model;
  std::optional<std::string> prompt;
  /// The chat request's own reader checks it.
  Json messages;
  std::optional<bool> add_special_tokens;
  std::optional<bool> return_token_strs;
  std::optional<bool> add_generation_prompt;
  std::optional<bool> continue_final_message;
};

constexpr Field<TokenizeRequest> kTokenizeFields[] = {
    field<&TokenizeRequest::model>("model"),
    field<&TokenizeRequest::prompt>("prompt"),
    field<&TokenizeRequest::messages>("messages"),
    field<&TokenizeRequest::add_special_tokens>("add_special_tokens"),
    field<&TokenizeRequest::return_token_strs>("return_token_strs"),
    field<&TokenizeRequest::add_generation_prompt>("add_generation_prompt"),
    field<&TokenizeRequest::continue_final_message>("continue_final_message"),
};

struct DetokenizeRequest {
  std::optional<std::string> model;
  std::vector<int32_t> tokens;
};

constexpr Field<DetokenizeRequest> kDetokenizeFields[] = {
    field<&DetokenizeRequest::model>("model"),
    field<&DetokenizeRequest::tokens>("tokens", Presence::kRequired),
};

Result<Json> read_body(std::string_view body) {
  return recipe::read_json(body, {.max_depth = kPolicy.max_json_depth,
                                  .refuse_duplicate_keys = kPolicy.refuse_duplicate_keys});
}

Status refuse(std::string param, std::string message) {
  return invalid_argument(std::move(message)).with_param(std::move(param));
}

Status check_model(const std::optional<std::string>& model, const ServiceInfo& info) {
  const auto& names = info.model_names;
  if (!model || std::find(names.begin(), names.end(), *model) != names.end()) {
    return Status::ok();
  }
  return not_found("The model `" + *model + "` does not exist.")
      .with_param("model")
      .with_reason("model_not_found");
}

/// The rendered prompt always ends where the model goes on.
Status check_template_members(const TokenizeRequest& request) {
  if (!request.add_generation_prompt.value_or(true)) {
    return refuse("add_generation_prompt",
                  "`add_generation_prompt: false` is not supported; a prompt always ends with the "
                  "header of the answer");
  }
  if (request.continue_final_message.value_or(false)) {
    return refuse("continue_final_message",
                  "`continue_final_message` is not supported; mark the final assistant message "
                  "with `prefix: true`");
  }
  return Status::ok();
}

/// The ids that a chat completion of this body would begin with.
Result<std::vector<TokenId>> chat_tokens(Json body, const ServiceInfo& info,
                                         const recipe::Recipe& recipe) {
  if (!body.contains("model") || body["model"].is_null()) {
    body["model"] = info.model_names.front();
  }
  DI_ASSIGN(const ChatRequest request, read_chat_request(body, kPolicy));
  DI_ASSIGN(const ConvertedRequest converted,
            convert_chat_request(request, served_options(info, recipe), kPolicy));
  return encode_prompt(converted, info, recipe, kPolicy);
}

std::string tokens_json(const std::vector<TokenId>& tokens, bool with_texts,
                        const ServiceInfo& info, const recipe::Tokenizer& tokenizer) {
  std::string out = R"({"count":)" + std::to_string(tokens.size()) + R"(,"max_model_len":)" +
                    std::to_string(info.model.max_model_len) + R"(,"tokens":[)";
  for (const TokenId token : tokens) {
    out += out.back() == '[' ? "" : ",";
    out += std::to_string(token);
  }
  out += R"(],"token_strs":)";
  if (!with_texts) {
    return out + "null}";
  }
  out += '[';
  for (const TokenId token : tokens) {
    out += out.back() == '[' ? "" : ",";
    recipe::append_json_string(recipe::token_text(tokenizer.token_bytes(token)), out);
  }
  return out + "]}";
}

}  // namespace

Result<std::string> tokenize(std::string_view body, const ServiceInfo& info,
                             const recipe::Recipe& recipe) {
  DI_ASSIGN(Json json, read_body(body));
  TokenizeRequest request;
  DI_TRY(read_members(json, ReadContext{kPolicy, {}}, kTokenizeFields, request));
  DI_TRY(check_model(request.model, info));
  const bool chat = !request.messages.is_null();
  if (chat == request.prompt.has_value()) {
    return refuse(chat ? "prompt" : "messages", "expected one of `prompt` and `messages`");
  }
  std::vector<TokenId> tokens;
  if (chat) {
    DI_TRY(check_template_members(request));
    DI_ASSIGN(tokens, chat_tokens(std::move(json), info, recipe));
  } else {
    // The tokenizer adds no tokens of its own, so `add_special_tokens` changes nothing.
    tokens = recipe.tokenizer().encode_full(*request.prompt);
  }
  return tokens_json(tokens, request.return_token_strs.value_or(false), info, recipe.tokenizer());
}

Result<std::string> detokenize(std::string_view body, const ServiceInfo& info,
                               const recipe::Recipe& recipe) {
  DI_ASSIGN(const Json json, read_body(body));
  DetokenizeRequest request;
  DI_TRY(read_members(json, ReadContext{kPolicy, {}}, kDetokenizeFields, request));
  DI_TRY(check_model(request.model, info));
  recipe::IncrementalDetokenizer detokenizer(recipe.tokenizer());
  std::string text;
  for (size_t i = 0; i < request.tokens.size(); ++i) {
    const int32_t token = request.tokens[i];
    if (token < 0 || token >= info.model.vocab_size) {
      const std::string param = "tokens[" + std::to_string(i) + "]";
      return refuse(param, "`" + param + "` must be a token id in [0, " +
                               std::to_string(info.model.vocab_size) + "), got " +
                               std::to_string(token));
    }
    text += detokenizer.push(token);
  }
  text += detokenizer.finish();
  std::string out = R"({"prompt":)";
  recipe::append_json_string(text, out);
  return out + "}";
}

}  // namespace deepinfer::protocol
