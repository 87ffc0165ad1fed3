#include "cli/responses_stream_case.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/recipe_json.h"
#include "cli/stream_case.h"
#include "protocol/responses/responses_conversion.h"
#include "protocol/responses/responses_stream.h"

namespace deepinfer::cli {

using namespace protocol;  // the cases are records of that layer
namespace {

/// One stream being played.
class Player final : public CasePlayer {
 public:
  Player(const Json& input, const ResponsesRequest& request, ConvertedResponses converted,
         const recipe::Tokenizer* tokenizer, const RecipePolicy& policy)
      : tokenizer_(tokenizer),
        prompt_(prompt_usage(input)),
        stream_({.thinking = converted.request.conversation.thinking_mode,
                 .names = std::move(converted.names),
                 .parsing = case_parsing_or(input, converted.request.parsing),
                 .control = case_control_tokens(tokenizer),
                 .policy = policy},
                ResponseWriter(
                    {.id = input.value("response_id", ""), .model = input.value("model", "")},
                    request, policy),
                tokenizer) {}

 private:
  bool done() const override { return stream_.done(); }
  std::optional<Json> push(const Json& chunk) override {
    std::vector<Event> events;
    return push(chunk, events) ? std::optional(parsed(events)) : std::nullopt;
  }
  Json end() override {
    std::vector<Event> events;
    if (!stream_.done()) {
      end("", events);
    }
    return parsed(events);
  }
  Json response() const override { return Json::parse(stream_.response()); }

  static ResponsesUsage prompt_usage(const Json& input) {
    const Json ready = first_ready(input);
    return {.prompt_tokens = ready.value("prompt_tokens", uint64_t{0}),
            .cached_tokens = ready.value("prompt_cache_hit_tokens", uint64_t{0})};
  }
  static Json parsed(const std::vector<Event>& events) {
    Json list = Json::array();
    for (const Event& event : events) {
      list.push_back(Json::parse(event.data));
    }
    return list;
  }
  void end(std::string_view reason, std::vector<Event>& events) {
    stream_.flush(events);
    stream_.finish(reason, prompt_, events);
  }

  /// False if the chunk breaks the stream.
  bool push(const Json& chunk, std::vector<Event>& events) {
    const std::string kind = chunk.value("kind", "");
    if (kind == "finish") {
      end(chunk.value("reason", "stop"), events);
      return true;
    }
    const auto ids = chunk.value("ids", std::vector<TokenId>());
    const Json logprobs = chunk.value("logprobs", Json());
    if (kind == "tokens" &&
        (tokenizer_ == nullptr || (logprobs.is_array() && logprobs.size() != ids.size()))) {
      return false;
    }
    stream_.open(events);
    if (kind == "text") {
      stream_.push_text(chunk.value("content", ""), chunk.value("token_count", uint64_t{0}),
                        events);
    } else if (kind == "tokens") {
      stream_.push_tokens(ids, case_logprobs(logprobs, ids), events);
    }
    if (stream_.stopped()) {
      stream_.finish("stop", prompt_, events);
    }
    return true;
  }

  const recipe::Tokenizer* tokenizer_;
  const ResponsesUsage prompt_;
  ResponsesStream stream_;
};

}  // namespace

Result<Json> run_responses_stream_case(const Json& input, const recipe::Tokenizer* tokenizer,
                                       const RecipePolicy& policy) {
  DI_ASSIGN(const std::string body, case_body(input));
  DI_ASSIGN(const ResponsesRequest request, parse_responses_request(body, policy));
  DI_ASSIGN(ConvertedResponses converted,
            convert_responses_request(request, case_options(input), policy));
  DI_ASSIGN(const Json* chunks, case_chunks(input));
  DI_ASSIGN(const recipe::Tokenizer* wanted, case_tokenizer(input, tokenizer));
  return Player(input, request, std::move(converted), wanted, policy).play(*chunks);
}

}  // namespace deepinfer::cli
