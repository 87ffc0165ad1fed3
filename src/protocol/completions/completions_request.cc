#include "protocol/completions/completions_request.h"

#include <utility>

#include "protocol/chat/chat_request_readers.h"
#include "protocol/field_reader.h"
#include "protocol/guided_output.h"

namespace deepinfer::protocol {
namespace {

using enum Presence;

// ------------------------------------------------------------------------- prompt

Status read_tokens(const Json& value, const ReadContext& context, CompletionsRequest& target) {
  std::vector<TokenId> tokens;
  DI_TRY(read_value(value, context, tokens));
  target.prompts.emplace_back(std::move(tokens));
  return Status::ok();
}

/// One entry of a list of prompts.
Status read_listed_prompt(const Json& value, const ReadContext& context,
                          CompletionsRequest& target) {
  if (value.is_string()) {
    target.prompts.emplace_back(value.get<std::string>());
    return Status::ok();
  }
  return value.is_array() ? read_tokens(value, context, target)
                          : wrong_type(context, "text or a list of token ids", value);
}

/// Text, a list of texts, token ids, or a list of lists of them.
Status read_prompt(const Json& value, const ReadContext& context, CompletionsRequest& target) {
  if (value.is_string()) {
    return read_listed_prompt(value, context, target);
  }
  if (!value.is_array()) {
    return wrong_type(context, "text, token ids, or a list of either", value);
  }
  if (!value.empty() && value[0].is_number()) {
    return read_tokens(value, context, target);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_listed_prompt(value[i], context.item(i), target));
  }
  return Status::ok();
}

// ------------------------------------------------------------------------- members

/// A row for a member that chat requests have too.
template <auto M>
constexpr Field<CompletionsRequest> common(std::string_view name, Presence presence = kOptional) {
  return {name,
          [](const Json& value, const ReadContext& context, CompletionsRequest& target) {
            return read_value(value, context, target.common.*M);
          },
          presence};
}

constexpr Field<CompletionsRequest> kFields[] = {
    common<&ChatRequest::model>("model", kRequired),
    {"prompt", read_prompt, kRequired},
    common<&ChatRequest::max_tokens>("max_tokens"),
    common<&ChatRequest::temperature>("temperature"),
    common<&ChatRequest::top_p>("top_p"),
    common<&ChatRequest::n>("n"),
    common<&ChatRequest::seed>("seed"),
    common<&ChatRequest::stream>("stream"),
    common<&ChatRequest::stream_options>("stream_options"),
    common<&ChatRequest::stop>("stop"),
    common<&ChatRequest::presence_penalty>("presence_penalty"),
    common<&ChatRequest::frequency_penalty>("frequency_penalty"),
    common<&ChatRequest::logit_bias>("logit_bias"),
    common<&ChatRequest::top_k>("top_k"),
    common<&ChatRequest::min_p>("min_p"),
    common<&ChatRequest::min_tokens>("min_tokens"),
    common<&ChatRequest::stop_token_ids>("stop_token_ids"),
    common<&ChatRequest::ignore_eos>("ignore_eos"),
    common<&ChatRequest::priority>("priority"),
    guided_field<CompletionsRequest, read_guided_json>("guided_json"),
    guided_field<CompletionsRequest, read_guided_regex>("guided_regex"),
    guided_field<CompletionsRequest, read_guided_grammar>("guided_grammar"),
    guided_field<CompletionsRequest, read_guided_choice>("guided_choice"),
    guided_field<CompletionsRequest, read_structured_outputs>("structured_outputs"),
    field<&CompletionsRequest::echo>("echo"),
    field<&CompletionsRequest::logprobs>("logprobs"),
    field<&CompletionsRequest::best_of>("best_of"),
    field<&CompletionsRequest::add_special_tokens>("add_special_tokens"),
    field<&CompletionsRequest::return_token_ids>("return_token_ids"),
};

/// Ignoring them would change what the client gets.
constexpr UnsupportedMember kUnsupported[] = {
    {"allowed_token_ids", "null"},         {"bad_words", "[]"},
    {"guided_whitespace_pattern", "null"}, {"length_penalty", "1.0"},
    {"logits_processors", "null"},         {"prompt_embeds", "null"},
    {"prompt_logprobs", "null"},           {"repetition_penalty", "1.0"},
    {"response_format", "null"},           {"suffix", "\"\""},
    {"use_beam_search", "false"},
};

}  // namespace

Result<CompletionsRequest> parse_completions_request(std::string_view body,
                                                     const RecipePolicy& policy) {
  DI_ASSIGN(const Json json,
            recipe::read_json(body, {.max_depth = policy.max_json_depth,
                                     .refuse_duplicate_keys = policy.refuse_duplicate_keys}));
  CompletionsRequest request;
  DI_TRY(read_members(json, ReadContext{policy, {}}, kFields, request));
  DI_TRY(refuse_unsupported(json, kUnsupported));
  return request;
}

}  // namespace deepinfer::protocol
