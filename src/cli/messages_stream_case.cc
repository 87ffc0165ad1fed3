#include "cli/messages_stream_case.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/recipe_json.h"
#include "cli/stream_case.h"
#include "protocol/messages/messages_conversion.h"
#include "protocol/messages/messages_stream.h"

namespace deepinfer::cli {

using namespace protocol;  // the cases are records of that layer
namespace {

/// One stream being played.
class Player final : public CasePlayer {
 public:
  Player(const Json& input, const ConvertedRequest& converted, const recipe::Tokenizer* tokenizer,
         const RecipePolicy& policy)
      : tokenizer_(tokenizer),
        prompt_(prompt_usage(input)),
        stream_({.envelope = {.id = input.value("response_id", ""),
                              .model = input.value("model", ""),
                              .thinking = converted.conversation.thinking_mode},
                 .parsing = case_parsing_or(input, converted.parsing),
                 .control = case_control_tokens(tokenizer),
                 .policy = policy},
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
  Json response() const override { return Json::parse(stream_.response(usage())); }

  static MessagesUsage prompt_usage(const Json& input) {
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

  MessagesUsage usage() const {
    MessagesUsage result = prompt_;
    result.completion_tokens = stream_.completion_tokens();
    return result;
  }
  void end(std::string_view reason, std::vector<Event>& events) {
    stream_.open(prompt_, events);
    stream_.flush(events);
    stream_.finish(reason, usage(), events);
  }

  /// False if the chunk breaks the stream.
  bool push(const Json& chunk, std::vector<Event>& events) {
    const std::string kind = chunk.value("kind", "");
    if (kind == "finish") {
      end(chunk.value("reason", "stop"), events);
      return true;
    }
    if (kind == "tokens" && tokenizer_ == nullptr) {
      return false;
    }
    stream_.open(prompt_, events);
    if (kind == "text") {
      stream_.push_text(chunk.value("content", ""), chunk.value("token_count", uint64_t{0}),
                        events);
    } else if (kind == "tokens") {
      stream_.push_tokens(chunk.value("ids", std::vector<TokenId>()), events);
    }
    if (stream_.stopped()) {
      stream_.finish("stop", usage(), events);
    }
    return true;
  }

  const recipe::Tokenizer* tokenizer_;
  const MessagesUsage prompt_;
  MessagesStream stream_;
};

}  // namespace

Result<Json> run_messages_stream_case(const Json& input, const recipe::Tokenizer* tokenizer,
                                      const RecipePolicy& policy) {
  DI_ASSIGN(const std::string body, case_body(input));
  DI_ASSIGN(const MessagesRequest request, parse_messages_request(body, policy));
  DI_ASSIGN(const ConvertedRequest converted,
            convert_messages_request(request, case_options(input), policy));
  DI_ASSIGN(const Json* chunks, case_chunks(input));
  DI_ASSIGN(const recipe::Tokenizer* wanted, case_tokenizer(input, tokenizer));
  return Player(input, converted, wanted, policy).play(*chunks);
}

}  // namespace deepinfer::cli
