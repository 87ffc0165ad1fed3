#include "fuzz/request.h"

#include <algorithm>
#include <utility>

#include "recipe/chat_encoder.h"
#include "recipe/utf8.h"

namespace deepinfer::fuzz {
namespace {

using protocol::ConvertedRequest;
using protocol::RecipePolicy;

void expect_ranges(const recipe::RenderedPrompt& prompt) {
  size_t end = 0;
  for (const auto& [begin, next] : prompt.special_ranges) {
    expect(begin >= end && begin < next && next <= prompt.text.size(), "ranges out of order",
           prompt.text);
    const std::string_view spelling = std::string_view(prompt.text).substr(begin, next - begin);
    expect(demo_recipe().tokenizer().special_id(spelling).has_value(),
           "a range that is no control token", spelling);
    end = next;
  }
}

void expect_prompt(const recipe::RenderedPrompt& prompt) {
  expect(recipe::is_valid_utf8(prompt.text), "a prompt that is not UTF-8", prompt.text);
  expect_ranges(prompt);
  const auto ids = demo_recipe().encode(prompt);
  expect(ids.has_value(), "a prompt that cannot be encoded", prompt.text);
  const recipe::Tokenizer& tokenizer = demo_recipe().tokenizer();
  std::string decoded;
  size_t num_special = 0;
  for (const TokenId id : *ids) {
    num_special += tokenizer.is_special(id) ? 1 : 0;
    decoded += tokenizer.token_bytes(id);
  }
  expect(decoded == prompt.text, "tokens that spell another prompt", decoded);
  expect(num_special == prompt.special_ranges.size(), "text that became a control token",
         prompt.text);
}

void expect_options(const ConvertedRequest& converted, const RecipePolicy& policy) {
  const auto& options = converted.options;
  expect(options.temperature >= 0.0F && options.temperature <= 2.0F, "temperature out of range");
  expect(options.top_p >= 0.0F && options.top_p <= 1.0F, "top_p out of range");
  if (options.output_constraint) {
    expect(recipe::is_valid_utf8(options.output_constraint->schema), "a constraint not in UTF-8");
  }
  for (const uint64_t prompt_tokens : {uint64_t{1}, uint64_t{100}, uint64_t{5000}}) {
    constexpr uint64_t kContext = 4096;
    const auto limit = protocol::resolve_max_tokens(converted, prompt_tokens, kContext, policy);
    if (!limit) {
      expect_refusal(limit.error());
    } else {
      expect(*limit >= 1, "no room for one token");
      expect(prompt_tokens + *limit <= kContext, "a limit beyond the context");
    }
  }
}

/// Two words and the end of the text, or a cut.
TokenOutput short_output(const GenerateRequest& request, FinishReason finish) {
  TokenOutput output{.tokens = output_tokens("Yes \xC3\xA9"), .finish = finish};
  if (request.sampling.logprobs) {
    for (const TokenId id : output.tokens) {
      PositionLogprobs& position = output.logprobs.emplace_back();
      position.chosen = {id, -1.0F};
      position.top.assign(static_cast<size_t>(request.sampling.top_logprobs), {id, -1.0F});
    }
  }
  output.usage = {.prompt_tokens = static_cast<int32_t>(request.prompt.size()),
                  .cached_tokens = 0,
                  .completion_tokens = static_cast<int32_t>(output.tokens.size())};
  return output;
}

void expect_events(const std::vector<protocol::Event>& events) {
  for (const protocol::Event& event : events) {
    if (event.data != "[DONE]") {
      expect_json(event.data);
    }
  }
}

}  // namespace

void expect_converted(const Result<ConvertedRequest>& converted, const RecipePolicy& policy) {
  if (!converted) {
    expect_json(protocol::error_body(converted.error(), policy));
    return expect_refusal(converted.error());
  }
  for (const std::string& stop : converted->parsing.stop_sequences) {
    expect(!stop.empty(), "an empty stop sequence");
  }
  expect_options(*converted, policy);
  expect_prompt(
      recipe::render(converted->encoding, converted->conversation, demo_recipe().image_token()));
}

void expect_prepared(Result<protocol::PreparedCompletion> prepared) {
  if (!prepared) {
    return expect_refusal(prepared.error());
  }
  expect(!prepared->requests.empty() && prepared->assembler != nullptr, "nothing to run");
  const ModelInfo& model = demo_service().model;
  for (size_t i = 0; i < prepared->requests.size(); ++i) {
    const GenerateRequest& request = prepared->requests[i];
    const Status valid = validate(request);
    expect(valid.is_ok(), "a request that the engine refuses", valid.message());
    expect(request.prompt.size() + static_cast<size_t>(request.max_tokens) <=
               static_cast<size_t>(model.max_model_len),
           "a request beyond the context");
    const auto known = [&](TokenId id) { return id >= 0 && id < model.vocab_size; };
    expect(std::all_of(request.prompt.begin(), request.prompt.end(), known), "an unknown token");
    expect(std::all_of(request.stop_token_ids.begin(), request.stop_token_ids.end(), known),
           "an unknown stop token");
    const auto index = static_cast<int32_t>(i);
    expect_events(prepared->assembler->push(index, short_output(request, FinishReason::kLength)));
    expect(prepared->assembler->choice_done(index), "a choice without an end");
  }
  expect_events(prepared->assembler->finish());
  expect_json(prepared->assembler->response());
}

void expect_answer(const Result<std::string>& answer) {
  if (answer) {
    expect_json(*answer);
  } else {
    expect_refusal(answer.error());
  }
}

}  // namespace deepinfer::fuzz
