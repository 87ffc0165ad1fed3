// The Responses protocol under the server's policy: groups Y and T of the field cases as far as
// one response goes, and one test per switch that only this protocol asks.

#include <gtest/gtest.h>

#include "cli/recipe_kinds.h"
#include "protocol/conversion.h"
#include "protocol/responses/custom_input.h"
#include "protocol/responses/responses_request.h"
#include "protocol/responses/tool_names.h"
#include "support.h"

namespace deepinfer::protocol::test {
namespace {

constexpr RecipePolicy kReference = RecipePolicy::reference();
constexpr RecipePolicy kServer = RecipePolicy::server();
const Json kNoReasoning = {{"reasoning", {{"effort", "none"}}}};
const Json kFunction = {{"type", "function"},
                        {"name", "f"},
                        {"parameters", {{"type", "object"}, {"properties", Json::object()}}}};

const std::string kCall =
    "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" "
    "string=\"true\">x</"
    "｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";

Json with(Json base, const Json& extra) {
  for (const auto& [name, value] : extra.items()) {
    base[name] = value;
  }
  return base;
}

std::string responses_body(const Json& extra) {
  return with({{"model", "m"}, {"input", "Hi"}}, extra).dump();
}

PreparedCompletion prepare_one(const Json& extra) {
  auto prepared = prepare_responses(responses_body(extra), service(), v41_recipe(), "resp_1", 7);
  EXPECT_TRUE(prepared.has_value()) << prepared.error().message();
  return prepared ? std::move(*prepared) : PreparedCompletion{};
}

Status refusal_of(const Json& extra) {
  auto prepared = prepare_responses(responses_body(extra), service(), v41_recipe(), "resp_1", 7);
  EXPECT_FALSE(prepared.has_value());
  return prepared.status();
}

struct PlayedResponse {
  std::vector<Json> events;
  Json response;

  std::vector<std::string> types() const {
    std::vector<std::string> out;
    for (const Json& event : events) {
      out.push_back(event["type"]);
    }
    return out;
  }
  std::vector<Json> of_type(const std::string& type) const {
    std::vector<Json> out;
    for (const Json& event : events) {
      if (event["type"] == type) {
        out.push_back(event);
      }
    }
    return out;
  }
};

/// Feeds the tokens one by one, then the end.
PlayedResponse play_response(const Json& extra, const std::string& text,
                             FinishReason finish = FinishReason::kStop) {
  PreparedCompletion prepared = prepare_one(extra);
  PlayedResponse played;
  const auto take = [&](const std::vector<Event>& events) {
    for (const Event& event : events) {
      played.events.push_back(Json::parse(event.data));
      EXPECT_EQ(event.name, played.events.back()["type"]);
    }
  };
  for (const TokenId token : script(text)) {
    TokenOutput output;
    output.tokens = {token};
    if (prepared.requests[0].sampling.logprobs) {
      output.logprobs = {{.chosen = {token, -0.5F}, .top = {}}};
    }
    take(prepared.assembler->push(0, output));
  }
  TokenOutput last;
  if (finish == FinishReason::kStop) {
    last.tokens = {v41_recipe().control().eos};
  }
  last.finish = finish;
  last.usage.cached_tokens = 3;
  take(prepared.assembler->push(0, last));
  EXPECT_TRUE(prepared.assembler->choice_done(0));
  take(prepared.assembler->finish());
  played.response = Json::parse(prepared.assembler->response());
  return played;
}

/// A body that both policies can be asked.
Json convert(const Json& extra, const RecipePolicy& policy) {
  const Json body = with({{"model", "DeepSeek-V4.1-Flash"}, {"input", "json"}}, extra);
  return *cli::RecipeKinds(nullptr, policy).run("responses-convert", Json{{"body", body}});
}

bool accepts(const Json& extra, const RecipePolicy& policy) {
  return convert(extra, policy)["ok"].get<bool>();
}

Json stream(const Json& extra, const std::string& text, const RecipePolicy& policy) {
  const Json body = with({{"model", "DeepSeek-V4.1-Flash"}, {"input", "x"}}, extra);
  Json input = {{"protocol", "responses"}, {"body", body}, {"response_id", "i"}, {"model", "m"}};
  input["chunks"] = Json::array(
      {{{"kind", "tokens"}, {"ids", script(text)}}, {{"kind", "finish"}, {"reason", "length"}}});
  auto output = cli::RecipeKinds(&v41_recipe().tokenizer(), policy).run("responses-stream", input);
  EXPECT_TRUE(output.has_value());
  return *output;
}

// ------------------------------------------------------------------------- field cases

TEST(FieldCase, Y06_Y07_TheLastEventHoldsTheItemsThatWereSent) {
  const PlayedResponse played =
      play_response({{"tools", Json::array({kFunction})}}, "thinking</think>\n\nSure.\n\n" + kCall);
  const auto done = played.of_type("response.output_item.done");
  ASSERT_EQ(done.size(), 3U);
  const Json& output = played.response["output"];
  ASSERT_EQ(output.size(), 3U);
  for (size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i]["item"], output[i]);
    EXPECT_EQ(done[i]["output_index"], i);
  }
  const auto added = played.of_type("response.output_item.added");
  for (size_t i = 0; i < added.size(); ++i) {
    EXPECT_EQ(added[i]["item"]["id"], output[i]["id"]);
  }
  EXPECT_EQ(added[2]["item"]["call_id"], output[2]["call_id"]);
  EXPECT_EQ(played.events.back()["type"], "response.completed");
  EXPECT_EQ(played.events.back()["response"], played.response);
  EXPECT_EQ(output[0]["content"][0]["text"], "thinking");
  EXPECT_EQ(output[1]["phase"], "commentary");
  EXPECT_EQ(output[2]["arguments"], R"({"a": "x"})");
}

TEST(FieldCase, Y07_AnUnknownToolTypeIsRefused) {
  const Status status = refusal_of({{"tools", Json::array({{{"type", "code_interpreter"}}})}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "tools[0].type");
}

TEST(FieldCase, Y08_EventsComeInTheDocumentedOrder) {
  const PlayedResponse played = play_response(kNoReasoning, "hello");
  EXPECT_EQ(
      played.types(),
      (std::vector<std::string>{
          "response.created", "response.in_progress", "response.output_item.added",
          "response.content_part.added", "response.output_text.delta", "response.output_text.done",
          "response.content_part.done", "response.output_item.done", "response.completed"}));
  for (size_t i = 0; i < played.events.size(); ++i) {
    EXPECT_EQ(played.events[i]["sequence_number"], i);
  }
}

TEST(FieldCase, Y09_EveryFormOfInputRendersLikeTheEqualChatRequest) {
  const std::string chat = prompt_of(prepare(chat_body()));
  const Json part = {{"type", "input_text"}, {"text", "Hi"}};
  const Json forms[] = {
      "Hi",
      Json::array({{{"role", "user"}, {"content", "Hi"}}}),
      Json::array({{{"type", "message"}, {"role", "user"}, {"content", Json::array({part})}}}),
  };
  for (const Json& form : forms) {
    EXPECT_EQ(prompt_of(prepare_one({{"input", form}})), chat);
  }
}

TEST(FieldCase, Y09_CallsAndOutputsRenderLikeTheEqualChatRequest) {
  Json chat = {{"thinking", {{"type", "enabled"}}}};
  chat["tools"] =
      Json::array({{{"type", "function"},
                    {"function", {{"name", "f"}, {"parameters", kFunction["parameters"]}}}}});
  Json calls = Json::array();
  Json items = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  // Ids in no particular order: calls stand in the order in which they were made.
  for (const char* id : {"z", "a"}) {
    calls.push_back(
        {{"id", id},
         {"type", "function"},
         {"function", {{"name", "f"}, {"arguments", "{\"k\":\"" + std::string(id) + "\"}"}}}});
    items.push_back({{"type", "function_call"},
                     {"call_id", id},
                     {"name", "f"},
                     {"arguments", "{\"k\":\"" + std::string(id) + "\"}"}});
  }
  chat["messages"] = Json::array(
      {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"tool_calls", calls}}});
  for (const char* id : {"z", "a"}) {
    chat["messages"].push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", id}});
    items.push_back({{"type", "function_call_output"}, {"call_id", id}, {"output", id}});
  }
  EXPECT_EQ(prompt_of(prepare_one({{"input", items}, {"tools", Json::array({kFunction})}})),
            prompt_of(prepare(chat_body(chat))));
}

TEST(FieldCase, Y10_OutputGoesBackAsInputForTenTurns) {
  const Json tools = {{"tools", Json::array({kFunction})}};
  Json input = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  for (int turn = 0; turn < 10; ++turn) {
    const PlayedResponse played = play_response(
        with(tools, {{"input", input}}), turn % 2 == 0 ? "t</think>" + kCall : "t</think>done");
    for (const Json& item : played.response["output"]) {
      input.push_back(item);
      if (item["type"] == "function_call") {
        input.push_back({{"type", "function_call_output"},
                         {"call_id", item["call_id"]},
                         {"output", "result " + std::to_string(turn)}});
      }
    }
  }
  const std::string prompt = prompt_of(prepare_one(with(tools, {{"input", input}})));
  EXPECT_NE(prompt.find("<tool_result>result 8</tool_result>"), std::string::npos);
}

TEST(FieldCase, T19_MarkupIsACallAndNeverText) {
  const PlayedResponse played =
      play_response(with(kNoReasoning, {{"tools", Json::array({kFunction})}}), kCall);
  EXPECT_TRUE(played.of_type("response.output_text.delta").empty());
  EXPECT_EQ(played.of_type("response.function_call_arguments.done").size(), 1U);
  ASSERT_EQ(played.response["output"].size(), 1U);
  EXPECT_EQ(played.response["output"][0]["type"], "function_call");
}

TEST(FieldCase, P02_CachedTokensAreAlwaysThere) {
  const Json usage = play_response(kNoReasoning, "x").response["usage"];
  EXPECT_EQ(usage["input_tokens_details"]["cached_tokens"], 3);
  EXPECT_EQ(usage["output_tokens"], 2);
  EXPECT_EQ(usage["total_tokens"], usage["input_tokens"].get<int>() + 2);
}

// ------------------------------------------------------------------------- output

TEST(Responses, ALimitMakesTheResponseIncomplete) {
  const PlayedResponse played = play_response(kNoReasoning, "hel", FinishReason::kLength);
  EXPECT_EQ(played.events.back()["type"], "response.incomplete");
  EXPECT_EQ(played.response["status"], "incomplete");
  EXPECT_EQ(played.response["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(played.response["output"][0]["status"], "incomplete");
}

TEST(Responses, AFailureEndsTheStreamWithTheNextNumbers) {
  PreparedCompletion prepared = prepare_one(with(kNoReasoning, {{"stream", true}}));
  TokenOutput output;
  output.tokens = script("hello");
  const size_t sent = prepared.assembler->push(0, output).size();
  const auto events = prepared.assembler->failed(error_body(internal_error("broken"), kServer));
  ASSERT_EQ(events.size(), 2U);
  const Json failed = Json::parse(events[0].data);
  EXPECT_EQ(events[0].name, "response.failed");
  EXPECT_EQ(failed["sequence_number"], sent);
  EXPECT_EQ(failed["response"]["status"], "failed");
  EXPECT_EQ(failed["response"]["error"]["message"], "broken");
  const Json error = Json::parse(events[1].data);
  EXPECT_EQ(events[1].name, "error");
  EXPECT_EQ(error["message"], "broken");
  EXPECT_EQ(error["error"]["message"], "broken");
}

TEST(Responses, CustomInputIsTheSameHoweverItIsCut) {
  const std::string arguments = R"({"input": "a\"b\\\n\u0001é"})";
  for (size_t cut = 0; cut <= arguments.size(); ++cut) {
    CustomInput input;
    std::string text = input.push(arguments.substr(0, cut));
    text += input.push(arguments.substr(cut));
    EXPECT_EQ(text + input.finish(), "a\"b\\\n\x01é");
  }
}

TEST(Responses, CustomInputThatIsNoneGoesOnAsItStands) {
  for (const std::string arguments : {R"({"q": 1})", "{}", R"({"inp)", R"({"input": 5})"}) {
    CustomInput input;
    std::string text;
    for (const char c : arguments) {
      text += input.push(std::string_view(&c, 1));
    }
    EXPECT_EQ(text + input.finish(), arguments);
  }
}

TEST(Responses, WithoutParallelCallsTheFirstWholeOneEndsTheAnswer) {
  const std::string end = "</｜DSML｜ calls>";
  const std::string invoke = kCall.substr(0, kCall.size() - end.size());
  const std::string two = invoke + invoke.substr(invoke.find('\n') + 1) + end;
  const Json body = with(kNoReasoning, {{"tools", Json::array({kFunction})}});
  const PlayedResponse both = play_response(body, two);
  EXPECT_EQ(both.response["output"].size(), 2U);
  EXPECT_EQ(both.response["parallel_tool_calls"], true);
  const PlayedResponse one = play_response(with(body, {{"parallel_tool_calls", false}}), two);
  EXPECT_EQ(one.response["output"].size(), 1U);
  EXPECT_EQ(one.response["output"][0]["status"], "completed");
  EXPECT_EQ(one.response["status"], "completed");
  EXPECT_EQ(one.response["parallel_tool_calls"], false);
  EXPECT_EQ(one.of_type("response.output_item.added").size(), 1U);
  EXPECT_EQ(one.events.front()["response"]["parallel_tool_calls"], false);
}

TEST(Responses, TheThinkingBudgetReachesTheEngine) {
  const PreparedCompletion prepared = prepare_one({{"thinking_token_budget", 9}});
  EXPECT_EQ(prepared.requests[0].sampling.thinking_limit->max_tokens, 9);
  EXPECT_EQ(refusal_of({{"thinking_token_budget", -1}}).param(), "thinking_token_budget");
}

TEST(Responses, TooLongAnInputNamesTheMember) {
  std::string text;
  for (int i = 0; i < 110000; ++i) {
    text += "word ";
  }
  const Status status = refusal_of({{"input", text}});
  EXPECT_EQ(status.param(), "input");
  EXPECT_EQ(status.reason(), "context_length_exceeded");
}

TEST(Responses, ErrorsNameTheMember) {
  const struct {
    Json extra;
    std::string param;
  } cases[] = {
      {{{"input", 5}}, "input"},
      {{{"input", Json::array()}}, "input"},
      {{{"input", Json::array({{{"role", "user"}, {"content", Json::array({5})}}})}},
       "input[0].content[0]"},
      {{{"max_output_tokens", 0}}, "max_output_tokens"},
      {{{"text", {{"format", {{"type", "json_object"}}}}}}, "input"},
      {{{"tool_choice", "required"}}, "tool_choice"},
      {{{"model", "other"}}, "model"},
      {{{"top_logprobs", 21}}, "top_logprobs"},
  };
  for (const auto& [extra, param] : cases) {
    const Status status = refusal_of(extra);
    EXPECT_EQ(status.param(), param) << status.message();
  }
}

// ------------------------------------------------------------------------- policy

TEST(RecipePolicy, IncludeLogprobs) {
  const Json body = {{"include", Json::array({"message.output_text.logprobs"})}};
  EXPECT_EQ(convert(body, kReference)["options"]["logprobs"], false);
  EXPECT_EQ(convert(body, kServer)["options"]["logprobs"], true);
  EXPECT_EQ(convert({{"include", Json::array({"reasoning.encrypted_content"})}},
                    kServer)["options"]["logprobs"],
            false);
}

TEST(RecipePolicy, RefuseStateful) {
  for (const Json& body :
       {Json{{"previous_response_id", "resp_1"}}, Json{{"background", true}},
        Json{{"conversation", "conv_1"}}, Json{{"prompt", {{"id", "p"}}}},
        Json{{"input", Json::array({{{"type", "item_reference"}, {"id", "msg_1"}}})}}}) {
    EXPECT_TRUE(accepts(body, kReference));
    EXPECT_FALSE(accepts(body, kServer)) << body;
  }
  EXPECT_TRUE(accepts({{"previous_response_id", nullptr}, {"background", false}, {"store", true}},
                      kServer));
}

TEST(RecipePolicy, RefuseUnknownTools) {
  const Json body = {{"tools", Json::array({{{"type", "mcp"}, {"server_label", "s"}}})}};
  EXPECT_TRUE(accepts(body, kReference));
  EXPECT_FALSE(accepts(body, kServer));
}

TEST(RecipePolicy, CustomTools) {
  const Json format = {{"type", "grammar"}, {"syntax", "lark"}, {"definition", "start: WORD"}};
  const Json tool = {
      {"type", "custom"}, {"name", "shout"}, {"description", "Loud."}, {"format", format}};
  const Json body = {{"tools", Json::array({tool})}, {"reasoning", {{"effort", "none"}}}};
  EXPECT_FALSE(accepts(body, kReference));
  const std::string prompt = convert(body, kServer)["prompt"];
  EXPECT_NE(prompt.find("Loud."), std::string::npos);
  EXPECT_NE(prompt.find("start: WORD"), std::string::npos);
  const std::string call =
      "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"shout\">\n<｜DSML｜ parameter name=\"input\" "
      "string=\"true\">HEY\n</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  const Json item = stream(body, call, kServer)["response"]["output"][0];
  EXPECT_EQ(item["type"], "custom_tool_call");
  EXPECT_EQ(item["name"], "shout");
  EXPECT_EQ(item["input"], "HEY\n");
}

TEST(RecipePolicy, SearchedNamespaces) {
  Json space = {{"type", "namespace"}, {"name", "ns"}};
  space["tools"] = Json::array({kFunction});
  Json input = Json::array({{{"role", "user"}, {"content", "x"}}});
  input.push_back({{"type", "tool_search_call"}, {"call_id", "s"}, {"arguments", Json::object()}});
  input.push_back(
      {{"type", "tool_search_output"}, {"call_id", "s"}, {"tools", Json::array({space})}});
  const Json body = {{"input", input}, {"reasoning", {{"effort", "none"}}}};
  std::string call = kCall;
  call.replace(call.find("\"f\""), 3, "\"ns::f\"");
  const auto called = [&](const RecipePolicy& policy) {
    return stream(body, call, policy)["response"]["output"][0];
  };
  EXPECT_EQ(called(kReference)["name"], "ns::f");
  EXPECT_FALSE(called(kReference).contains("namespace"));
  EXPECT_EQ(called(kServer)["name"], "f");
  EXPECT_EQ(called(kServer)["namespace"], "ns");
}

TEST(RecipePolicy, CallsInOrder) {
  Json input = Json::array();
  for (const char* id : {"b", "a"}) {
    input.push_back(
        {{"type", "function_call"}, {"call_id", id}, {"name", id}, {"arguments", "{}"}});
  }
  for (const char* id : {"b", "a"}) {
    input.push_back({{"type", "function_call_output"}, {"call_id", id}, {"output", id}});
  }
  const auto first_is_b = [&](const RecipePolicy& policy) {
    const std::string prompt = convert({{"input", input}}, policy)["prompt"];
    return prompt.find("invoke name=\"b\"") < prompt.find("invoke name=\"a\"");
  };
  EXPECT_FALSE(first_is_b(kReference));
  EXPECT_TRUE(first_is_b(kServer));
}

TEST(RecipePolicy, ReportToolsInForce) {
  const Json body = {{"tools", Json::array({{{"type", "web_search"}}, kFunction})}};
  EXPECT_EQ(stream(body, "x", kReference)["response"]["tools"].size(), 2U);
  const Json tools = stream(body, "x", kServer)["response"]["tools"];
  ASSERT_EQ(tools.size(), 1U);
  EXPECT_EQ(tools[0]["name"], "f");
}

TEST(RecipePolicy, WholeCallsOnlyInResponses) {
  const Json body = {{"tools", Json::array({kFunction})}, {"reasoning", {{"effort", "none"}}}};
  const auto status = [&](const std::string& text, const RecipePolicy& policy) {
    return stream(body, text, policy)["response"]["output"][0]["status"];
  };
  const std::string cut = kCall.substr(0, kCall.find("</"));
  EXPECT_EQ(status(kCall, kReference), "incomplete");
  EXPECT_EQ(status(kCall, kServer), "completed");
  EXPECT_EQ(status(cut, kServer), "incomplete");
}

// Finding a free name for each of them must not try all names before it.
TEST(Responses, NamesManyEqualInnerToolsQuickly) {
  Json tool = {{"type", "function"}, {"name", "f"}};
  Json space = {{"type", "namespace"}, {"name", "ns"}, {"tools", Json::array()}};
  for (int i = 0; i < 50'000; ++i) {
    space["tools"].push_back(tool);
  }
  const Json body = {{"model", "m"}, {"input", "x"}, {"tools", Json::array({space})}};
  const auto request = parse_responses_request(body.dump(), kServer);
  ASSERT_TRUE(request.has_value()) << request.error().message();
  const ToolNames names(*request, recipe::Encoding::kV41);
  const auto& inner = request->tools.at(0).tools;
  EXPECT_EQ(names.declared(inner.at(0)), "ns::f");
  EXPECT_EQ(names.declared(inner.back()), "ns::f_49999");
}

}  // namespace
}  // namespace deepinfer::protocol::test
