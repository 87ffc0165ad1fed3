#include "cli/chat_stream_case.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/recipe_json.h"
#include "cli/stream_case.h"
#include "protocol/chat/chat_choice.h"
#include "protocol/chat/chat_chunks.h"
#include "protocol/chat/chat_request.h"
#include "protocol/conversion.h"
#include "recipe/chat_encoder.h"

namespace deepinfer::cli {

using namespace protocol;  // the cases are records of that layer
namespace {

/// One stream being played.
class Player final : public CasePlayer {
 public:
  Player(const Json& input, const ConvertedRequest& converted, const recipe::Tokenizer* tokenizer,
         const RecipePolicy& policy)
      : tokenizer_(tokenizer),
        policy_(policy),
        include_usage_(converted.include_usage),
        usage_(prompt_usage(input)),
        writer_(envelope(input, converted), policy),
        choice_({.thinking = converted.conversation.thinking_mode,
                 .parsing = case_parsing_or(input, converted.parsing),
                 .control = case_control_tokens(tokenizer),
                 .policy = policy},
                tokenizer) {}

 private:
  bool done() const override { return choice_.done(); }
  std::optional<Json> push(const Json& chunk) override {
    std::vector<std::string> events;
    return push(chunk, events) ? std::optional(parsed(events)) : std::nullopt;
  }
  Json end() override {
    std::vector<std::string> events;
    if (!choice_.done()) {
      choice_.flush(writer_, events);
      finish("", events);
    }
    if (policy_.usage_chunk && include_usage_) {
      events.push_back(writer_.usage(usage()));
    }
    return parsed(events);
  }
  Json closing_mark() const override { return "[DONE]"; }
  Json response() const override {
    return Json::parse(writer_.response({&choice_.message()}, usage()));
  }

  static ChatUsage prompt_usage(const Json& input) {
    const Json ready = first_ready(input);
    return {.prompt_tokens = ready.value("prompt_tokens", uint64_t{0}),
            .cached_tokens = ready.value("prompt_cache_hit_tokens", uint64_t{0})};
  }
  static ChatEnvelope envelope(const Json& input, const ConvertedRequest& converted) {
    ChatEnvelope result{.id = input.value("response_id", ""),
                        .model = input.value("model", ""),
                        .thinking = converted.conversation.thinking_mode,
                        .continues_content = converted.parsing.thinking_initial_stage ==
                                             recipe::ThinkingStage::kContentContinuation,
                        .announces_usage = converted.include_usage || !converted.stream};
    const Json ready = first_ready(input);
    if (ready.contains("system_fingerprint") && ready["system_fingerprint"].is_string()) {
      result.system_fingerprint = ready["system_fingerprint"].get<std::string>();
    }
    return result;
  }
  static Json parsed(const std::vector<std::string>& events) {
    Json list = Json::array();
    for (const std::string& event : events) {
      list.push_back(Json::parse(event));
    }
    return list;
  }

  ChatUsage usage() const {
    ChatUsage result = usage_;
    result.completion_tokens = choice_.completion_tokens();
    result.reasoning_tokens = choice_.reasoning_tokens();
    return result;
  }
  void finish(std::string_view reason, std::vector<std::string>& events) {
    const ChatUsage now = usage();
    choice_.finish(reason, writer_, policy_.usage_chunk ? nullptr : &now, events);
  }

  /// False if the chunk breaks the stream.
  bool push(const Json& chunk, std::vector<std::string>& events) {
    const std::string kind = chunk.value("kind", "");
    if (kind == "ready") {
      choice_.open(writer_, events);
    } else if (kind == "text") {
      choice_.push_text(chunk.value("content", ""), chunk.value("token_count", uint64_t{0}),
                        writer_, events);
    } else if (kind == "tokens") {
      const auto ids = chunk.value("ids", std::vector<TokenId>());
      const Json logprobs = chunk.value("logprobs", Json());
      if (tokenizer_ == nullptr || (logprobs.is_array() && logprobs.size() != ids.size())) {
        return false;
      }
      choice_.push_tokens(ids, case_logprobs(logprobs, ids), writer_, events);
    } else {
      choice_.flush(writer_, events);
      finish(chunk.value("reason", "stop"), events);
      return true;
    }
    if (choice_.stopped()) {
      finish("stop", events);
    }
    return true;
  }

  const recipe::Tokenizer* tokenizer_;
  const RecipePolicy policy_;
  const bool include_usage_;
  const ChatUsage usage_;
  const ChunkWriter writer_;
  ChatChoice choice_;
};

}  // namespace

Result<Json> run_chat_stream_case(const Json& input, const recipe::Tokenizer* tokenizer,
                                  const RecipePolicy& policy) {
  DI_ASSIGN(const std::string body, case_body(input));
  DI_ASSIGN(const ChatRequest request, parse_chat_request(body, policy));
  DI_ASSIGN(const ConvertedRequest converted,
            convert_chat_request(request, case_options(input), policy));
  DI_ASSIGN(const Json* chunks, case_chunks(input));
  DI_ASSIGN(const recipe::Tokenizer* wanted, case_tokenizer(input, tokenizer));
  return Player(input, converted, wanted, policy).play(*chunks);
}

}  // namespace deepinfer::cli
