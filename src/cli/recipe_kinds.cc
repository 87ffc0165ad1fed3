#include "cli/recipe_kinds.h"

#include <string>
#include <utility>

#include "cli/chat_stream_case.h"
#include "cli/messages_stream_case.h"
#include "cli/recipe_json.h"
#include "cli/responses_stream_case.h"
#include "protocol/conversion.h"
#include "protocol/messages/messages_conversion.h"
#include "protocol/messages/messages_error.h"
#include "protocol/responses/responses_conversion.h"

namespace deepinfer::cli {

using namespace protocol;  // the cases are records of that layer
namespace {

Json refused(std::string_view stage, const Status& status, const RecipePolicy& policy,
             std::string_view protocol) {
  const bool own_shape = policy.messages_errors && protocol == "messages";
  const std::string body = own_shape ? messages_error_body(messages_error_type(status), status)
                                     : error_body(status, policy);
  return {{"ok", false},
          {"stage", stage},
          {"status", status.code() == StatusCode::kNotFound ? 404 : 400},
          {"body", Json::parse(body)}};
}

/// The text after the first reading of a mode that never yields added tokens.
std::vector<TokenId> tokenize_as(const std::string& mode, const std::string& text,
                                 const recipe::Tokenizer& tokenizer) {
  return mode == "full" ? tokenizer.encode_full(text) : tokenizer.encode_plain(text);
}

}  // namespace

Result<const recipe::Tokenizer*> RecipeKinds::tokenizer() const {
  if (tokenizer_ == nullptr) {
    return failed_precondition("this kind needs a tokenizer: give --tokenizer PATH");
  }
  return tokenizer_;
}

Result<Json> RecipeKinds::run(std::string_view kind, const Json& input) const {
  using Run = Result<Json> (RecipeKinds::*)(const Json&) const;
  struct Row {
    std::string_view kind;
    Run run;
  };
  static constexpr Row kRows[] = {
      {"chat-convert", &RecipeKinds::convert_chat},
      {"messages-convert", &RecipeKinds::convert_messages},
      {"responses-convert", &RecipeKinds::convert_responses},
      {"max-tokens", &RecipeKinds::max_tokens},
      {"render", &RecipeKinds::render},
      {"encode", &RecipeKinds::encode},
      {"tokenize", &RecipeKinds::tokenize},
      {"detokenize", &RecipeKinds::detokenize},
      {"chat-stream", &RecipeKinds::chat_stream},
      {"messages-stream", &RecipeKinds::messages_stream},
      {"responses-stream", &RecipeKinds::responses_stream},
  };
  for (const Row& row : kRows) {
    if (row.kind != kind) {
      continue;
    }
    try {
      return (this->*row.run)(input);
    } catch (const Json::exception& error) {  // a member of another type than the kind expects
      return invalid_argument(error.what());
    }
  }
  return unimplemented("kind " + std::string(kind) + " is not supported by this version");
}

namespace {

/// A protocol's two steps in front of the prompt.
struct ConvertRow {
  std::string_view protocol;
  Result<ConvertedRequest> (*convert)(const std::string& body, const ConversionOptions& options,
                                      const RecipePolicy& policy, bool& parsed);
};

template <auto Parse, auto Convert>
Result<ConvertedRequest> parse_and_convert(const std::string& body,
                                           const ConversionOptions& options,
                                           const RecipePolicy& policy, bool& parsed) {
  DI_ASSIGN(const auto request, Parse(body, policy));
  parsed = true;
  return Convert(request, options, policy);
}

Result<ConvertedRequest> convert_responses_only(const ResponsesRequest& request,
                                                const ConversionOptions& options,
                                                const RecipePolicy& policy) {
  DI_ASSIGN(ConvertedResponses converted, convert_responses_request(request, options, policy));
  return std::move(converted.request);
}

constexpr ConvertRow kConversions[] = {
    {"chat", parse_and_convert<parse_chat_request, convert_chat_request>},
    {"messages", parse_and_convert<parse_messages_request, convert_messages_request>},
    {"responses", parse_and_convert<parse_responses_request, convert_responses_only>},
};

}  // namespace

Result<RecipeKinds::Conversion> RecipeKinds::convert_as(const std::string& protocol,
                                                        const Json& input) const {
  DI_ASSIGN(const std::string body, case_body(input));
  for (const ConvertRow& row : kConversions) {
    if (row.protocol != protocol) {
      continue;
    }
    bool parsed = false;
    auto converted = row.convert(body, case_options(input), policy_, parsed);
    if (!converted) {
      return Conversion{
          {}, refused(parsed ? "convert" : "parse", converted.error(), policy_, protocol)};
    }
    return Conversion{std::move(*converted), {}};
  }
  return unimplemented("protocol " + protocol + " is not supported by this version");
}

Result<Json> RecipeKinds::convert(const std::string& protocol, const Json& input) const {
  DI_ASSIGN(const Conversion conversion, convert_as(protocol, input));
  const auto& converted = conversion.converted;
  if (!converted) {
    return conversion.refusal;
  }
  Json output = {{"ok", true},
                 {"model_version", converted->encoding == recipe::Encoding::kV4 ? "v4" : "v4.1"},
                 {"stream", converted->stream}};
  output["options"] = inference_options_json(converted->options);
  output["parsing"] = parsing_json(converted->parsing);
  add_rendered(recipe::render(converted->encoding, converted->conversation), output);
  return output;
}

Result<Json> RecipeKinds::max_tokens(const Json& input) const {
  const std::string protocol = input.value("protocol", "chat");
  DI_ASSIGN(const Conversion conversion, convert_as(protocol, input));
  const auto& converted = conversion.converted;
  if (!converted) {
    return conversion.refusal;
  }
  const auto limit = resolve_max_tokens(*converted, input.value("prompt_tokens", uint64_t{0}),
                                        input.value("context_limit", uint64_t{0}), policy_);
  if (!limit) {
    return refused("convert", limit.error(), policy_, protocol);
  }
  return Json{{"ok", true}, {"max_tokens", *limit}};
}

namespace {

recipe::RenderedPrompt render_case(const Json& input) {
  const Json special = input.value("special_tokens", Json());
  const std::string image =
      special.is_object() ? special.value("image", std::string()) : std::string();
  return recipe::render(case_encoding(input.value("encoding", "v4.1")),
                        case_conversation(input.value("conversation", Json::object())), image);
}

}  // namespace

Result<Json> RecipeKinds::render(const Json& input) const {
  Json output = Json::object();
  add_rendered(render_case(input), output);
  return output;
}

Result<Json> RecipeKinds::encode(const Json& input) const {
  DI_ASSIGN(const recipe::Tokenizer* tokenizer, this->tokenizer());
  DI_ASSIGN(const std::vector<TokenId> ids, recipe::encode(render_case(input), *tokenizer));
  return Json{{"ids", ids}};
}

Result<Json> RecipeKinds::tokenize(const Json& input) const {
  DI_ASSIGN(const recipe::Tokenizer* tokenizer, this->tokenizer());
  return Json{{"ids", tokenize_as(input.value("mode", "full"), input.value("text", std::string()),
                                  *tokenizer)}};
}

/// The stream drops an unfinished tail; ids without text have no entry.
Result<Json> RecipeKinds::detokenize(const Json& input) const {
  DI_ASSIGN(const recipe::Tokenizer* tokenizer, this->tokenizer());
  recipe::IncrementalDetokenizer detokenizer(*tokenizer);
  std::string text;
  Json tokens = Json::array();
  Json waiting = Json::array();
  Json steps = Json::array();
  for (const Json& item : input.value("ids", Json::array())) {
    const auto id = item.get<TokenId>();
    const std::string_view bytes = tokenizer->token_bytes(id);
    Json entry = {{"token", recipe::token_text(bytes)}, {"bytes", Json::array()}};
    for (const char c : bytes) {
      entry["bytes"].push_back(static_cast<uint8_t>(c));
    }
    waiting.push_back(std::move(entry));
    const std::string released = detokenizer.push(id);
    steps.push_back(released);
    text += released;
    if (!released.empty()) {
      tokens.insert(tokens.end(), waiting.begin(), waiting.end());
      waiting.clear();
    }
  }
  Json output = {{"text", text}};
  output["tokens"] = std::move(tokens);
  output["steps"] = std::move(steps);
  return output;
}

Result<Json> RecipeKinds::chat_stream(const Json& input) const {
  return run_chat_stream_case(input, tokenizer_, policy_);
}

Result<Json> RecipeKinds::messages_stream(const Json& input) const {
  return run_messages_stream_case(input, tokenizer_, policy_);
}

Result<Json> RecipeKinds::responses_stream(const Json& input) const {
  return run_responses_stream_case(input, tokenizer_, policy_);
}

}  // namespace deepinfer::cli
