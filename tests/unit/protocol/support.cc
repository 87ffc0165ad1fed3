#include "support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace deepinfer::protocol::test {

const recipe::Recipe& v41_recipe() {
  static const recipe::Recipe recipe = [] {
    auto tokenizer = recipe::Tokenizer::load("tests/data/tokenizer-v4.1");
    EXPECT_TRUE(tokenizer.has_value());
    recipe::ControlTokens control;
    control.bos = *(*tokenizer)->special_id("<｜begin▁of▁sentence｜>");
    control.eos = *(*tokenizer)->special_id("<｜end▁of▁sentence｜>");
    control.think_start = *(*tokenizer)->special_id("<think>");
    control.think_end = *(*tokenizer)->special_id("</think>");
    control.dsml = *(*tokenizer)->special_id("｜DSML｜");
    return recipe::Recipe(recipe::Encoding::kV41, std::move(*tokenizer), control, true);
  }();
  return recipe;
}

ServiceInfo service() {
  const recipe::Recipe& recipe = v41_recipe();
  return {.model_names = {"m", "alias"},
          .model = {.vocab_size = recipe.tokenizer().vocab_size(),
                    .max_model_len = 100000,
                    .eos_token_ids = {recipe.control().eos},
                    .system_fingerprint = "fp"}};
}

std::string chat_body(const Json& extra) {
  Json body = {{"model", "m"}};
  body["messages"] = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  for (const auto& [name, value] : extra.items()) {
    body[name] = value;
  }
  return body.dump();
}

PreparedCompletion prepare(const std::string& body) {
  auto prepared = prepare_chat_completion(body, service(), v41_recipe(), "chatcmpl-1", 7);
  EXPECT_TRUE(prepared.has_value()) << prepared.error().message() << "\n" << body;
  return prepared ? std::move(*prepared) : PreparedCompletion{};
}

Status refusal(const std::string& body) {
  auto prepared = prepare_chat_completion(body, service(), v41_recipe(), "chatcmpl-1", 7);
  EXPECT_FALSE(prepared.has_value()) << body.substr(0, 300);
  return prepared.status();
}

std::string prompt_of(const PreparedCompletion& prepared) {
  std::string text;
  for (const TokenId id : prepared.requests.at(0).prompt) {
    text += v41_recipe().tokenizer().token_bytes(id);
  }
  return text;
}

std::vector<TokenId> script(const std::string& text) {
  return v41_recipe().tokenizer().encode_full(text);
}

namespace {

void take_events(const std::vector<Event>& events, Played& played) {
  for (const Event& event : events) {
    EXPECT_FALSE(played.done_event) << "an event after [DONE]: " << event.data;
    if (event.data == "[DONE]") {
      played.done_event = true;
    } else {
      played.chunks.push_back(Json::parse(event.data));
    }
  }
}

}  // namespace

void join(Played& played) {
  for (const Json& chunk : played.chunks) {
    for (const Json& choice : chunk["choices"]) {
      if (choice["index"] != 0) {
        continue;
      }
      const Json& delta = choice["delta"];
      played.content += delta.value("content", "");
      played.reasoning += delta.value("reasoning_content", "");
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        const auto index = call["index"].get<size_t>();
        if (call.contains("id")) {
          EXPECT_EQ(index, played.names.size());
          played.ids.push_back(call["id"]);
          played.names.push_back(call["function"]["name"]);
          played.arguments.emplace_back();
        }
        played.arguments.at(index) += call["function"].value("arguments", "");
      }
      if (!choice["finish_reason"].is_null()) {
        played.finish_reasons.push_back(choice["finish_reason"]);
      }
    }
  }
}

Played play(const Json& request, const std::vector<TokenId>& tokens, size_t group,
            FinishReason finish) {
  PreparedCompletion prepared = prepare(chat_body(request));
  Played played;
  ResponseAssembler& assembler = *prepared.assembler;
  const size_t step = group == 0 ? std::max<size_t>(tokens.size(), 1) : group;
  for (size_t at = 0; at < tokens.size() && !assembler.choice_done(0); at += step) {
    TokenOutput output;
    const size_t end = std::min(tokens.size(), at + step);
    for (size_t i = at; i < end; ++i) {
      output.tokens.push_back(tokens[i]);
      if (prepared.requests[0].sampling.logprobs) {
        output.logprobs.push_back({.chosen = {tokens[i], -0.5F}, .top = {{tokens[i], -0.5F}}});
      }
    }
    take_events(assembler.push(0, output), played);
  }
  if (!assembler.choice_done(0)) {
    TokenOutput last;
    if (finish == FinishReason::kStop) {
      last.tokens = {v41_recipe().control().eos};
      if (prepared.requests[0].sampling.logprobs) {
        last.logprobs.push_back({.chosen = {last.tokens[0], -0.5F}, .top = {}});
      }
    }
    last.finish = finish;
    take_events(assembler.push(0, last), played);
  }
  EXPECT_TRUE(assembler.choice_done(0));
  take_events(assembler.finish(), played);
  played.response = Json::parse(assembler.response());
  join(played);
  return played;
}

}  // namespace deepinfer::protocol::test
