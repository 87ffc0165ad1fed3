// One test per switch of RecipePolicy: what the reference does and what the server does.
// docs/recipe-differences.md lists them.

#include "protocol/recipe_policy.h"

#include <gtest/gtest.h>

#include "cli/recipe_kinds.h"
#include "protocol/conversion.h"
#include "support.h"

namespace deepinfer::protocol::test {
namespace {

constexpr RecipePolicy kReference = RecipePolicy::reference();
constexpr RecipePolicy kServer = RecipePolicy::server();

/// The server's policy takes other model names, so that both can be asked the same.
Json convert(const Json& body, const RecipePolicy& policy) {
  Json full = {{"model", "DeepSeek-V4.1-Flash"}};
  full["messages"] = Json::array({{{"role", "user"}, {"content", "json"}}});
  for (const auto& [name, value] : body.items()) {
    full[name] = value;
  }
  return *cli::RecipeKinds(nullptr, policy).run("chat-convert", Json{{"body", full}});
}

bool accepts(const Json& body, const RecipePolicy& policy) {
  return convert(body, policy)["ok"].get<bool>();
}

Json stream(const Json& body, const std::vector<TokenId>& tokens, const RecipePolicy& policy) {
  Json full = {{"model", "DeepSeek-V4.1-Flash"}, {"stream", true}};
  full["messages"] = Json::array({{{"role", "user"}, {"content", "x"}}});
  for (const auto& [name, value] : body.items()) {
    full[name] = value;
  }
  Json input = {{"protocol", "chat"}, {"body", full}, {"response_id", "i"}, {"model", "m"}};
  input["chunks"] = Json::array(
      {{{"kind", "tokens"}, {"ids", tokens}}, {{"kind", "finish"}, {"reason", "stop"}}});
  auto output = cli::RecipeKinds(&v41_recipe().tokenizer(), policy).run("chat-stream", input);
  EXPECT_TRUE(output.has_value());
  return *output;
}

const Json kOff = {{"thinking", {{"type", "disabled"}}}};

Json with(Json base, const Json& extra) {
  for (const auto& [name, value] : extra.items()) {
    base[name] = value;
  }
  return base;
}

/// A Messages request under a policy.
Json convert_messages(const Json& body, const RecipePolicy& policy) {
  Json full = {{"model", "DeepSeek-V4.1-Flash"}};
  full["messages"] = Json::array({{{"role", "user"}, {"content", "x"}}});
  return *cli::RecipeKinds(nullptr, policy)
              .run("messages-convert", Json{{"body", with(full, body)}});
}

TEST(RecipePolicy, MaxJsonDepth) {
  Json deep = 1;
  for (int i = 0; i < 80; ++i) {
    deep = Json::array({deep});
  }
  EXPECT_TRUE(accepts({{"zz", deep}}, kReference));
  EXPECT_FALSE(accepts({{"zz", deep}}, kServer));
}

TEST(RecipePolicy, RefuseDuplicateKeys) {
  const Json input = {
      {"body_text",
       R"({"model":"DeepSeek-V4.1-Flash","messages":[{"role":"user","content":"x"}],"z":1,"z":2})"}};
  EXPECT_TRUE(
      (*cli::RecipeKinds(nullptr, kReference).run("chat-convert", input))["ok"].get<bool>());
  EXPECT_FALSE((*cli::RecipeKinds(nullptr, kServer).run("chat-convert", input))["ok"].get<bool>());
}

TEST(RecipePolicy, MaxCompletionTokens) {
  const Json body = {{"max_completion_tokens", 5}, {"max_tokens", 50}};
  EXPECT_EQ(convert(body, kReference)["options"]["max_tokens"], 50);
  EXPECT_EQ(convert(body, kServer)["options"]["max_tokens"], 5);
}

TEST(RecipePolicy, DeveloperRole) {
  const auto messages = [](const char* role) {
    return Json{{"messages", Json::array({{{"role", role}, {"content", "rule"}},
                                          {{"role", "user"}, {"content", "x"}}})}};
  };
  EXPECT_FALSE(accepts(messages("developer"), kReference));
  EXPECT_EQ(convert(messages("developer"), kServer)["prompt"],
            convert(messages("system"), kServer)["prompt"]);
}

TEST(RecipePolicy, ReasoningAlias) {
  const Json body = {
      {"messages",
       Json::array(
           {{{"role", "user"}, {"content", "x"}},
            {{"role", "assistant"}, {"content", ""}, {"reasoning", "hm"}, {"prefix", true}}})}};
  EXPECT_EQ(convert(body, kReference)["prompt"].get<std::string>().find("hm"), std::string::npos);
  EXPECT_NE(convert(body, kServer)["prompt"].get<std::string>().find("hm"), std::string::npos);
}

TEST(RecipePolicy, LenientToolCalls) {
  Json call = {{"id", "c"}, {"function", {{"name", "f"}, {"arguments", {{"a", 1}}}}}};
  Json assistant = {{"role", "assistant"}, {"tool_calls", Json::array({call})}};
  const Json body = {
      {"messages", Json::array({{{"role", "user"}, {"content", "x"}},
                                assistant,
                                {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "r"}}})}};
  EXPECT_FALSE(accepts(body, kReference));
  EXPECT_TRUE(accepts(body, kServer));
}

TEST(RecipePolicy, ServedModels) {
  const Json reference = convert({{"model", "zz"}}, kReference);
  EXPECT_EQ(reference["status"], 400);
  const Json server = convert({{"model", "zz"}}, kServer);
  EXPECT_EQ(server["status"], 404);
  EXPECT_EQ(server["body"]["error"]["code"], "model_not_found");
  const Status status = refusal(chat_body({{"model", "zz"}}));
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.reason(), "model_not_found");
  prepare(chat_body({{"model", "alias"}}));
}

TEST(RecipePolicy, SeveralChoices) {
  EXPECT_FALSE(accepts({{"n", 2}}, kReference));
  EXPECT_TRUE(accepts({{"n", 16}}, kServer));
  EXPECT_FALSE(accepts({{"n", 17}}, kServer));
  EXPECT_FALSE(accepts({{"n", 0}}, kServer));
  const auto prepared = prepare(chat_body({{"n", 2}, {"seed", 9}}));
  EXPECT_EQ(prepared.requests[0].sampling.seed, 9U);
  EXPECT_EQ(prepared.requests[1].sampling.seed, 10U);
}

TEST(RecipePolicy, SamplingExtensions) {
  EXPECT_TRUE(accepts({{"top_k", "x"}}, kReference));
  EXPECT_FALSE(accepts({{"top_k", "x"}}, kServer));
  const auto prepared = prepare(chat_body({{"top_k", 7},
                                           {"min_p", 0.25},
                                           {"min_tokens", 3},
                                           {"ignore_eos", true},
                                           {"presence_penalty", 0.5},
                                           {"frequency_penalty", -1},
                                           {"seed", 4},
                                           {"priority", -2}}));
  const GenerateRequest& request = prepared.requests[0];
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.min_p, 0.25F);
  EXPECT_EQ(request.min_tokens, 3);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.sampling.presence_penalty, 0.5F);
  EXPECT_EQ(request.sampling.frequency_penalty, -1.0F);
  EXPECT_EQ(request.sampling.seed, 4U);
  EXPECT_EQ(request.priority, -2);
  EXPECT_EQ(refusal(chat_body({{"min_p", 2}})).param(), "min_p");
  EXPECT_EQ(refusal(chat_body({{"top_k", -2}})).param(), "top_k");
  EXPECT_EQ(refusal(chat_body({{"min_tokens", 9}, {"max_tokens", 5}})).param(), "min_tokens");
}

TEST(RecipePolicy, RequestedSampling) {
  const Json body = {{"temperature", 0}, {"top_p", 0.5}};
  EXPECT_EQ(convert(body, kReference)["options"]["temperature"], 1.0);
  EXPECT_EQ(convert(body, kServer)["options"]["temperature"], 0.0);
  EXPECT_EQ(convert(with(kOff, body), kReference)["options"]["top_p"], 1.0);
  EXPECT_EQ(convert(with(kOff, body), kServer)["options"]["top_p"], 0.5);
}

TEST(RecipePolicy, ThinkingBudget) {
  EXPECT_TRUE(accepts({{"thinking_token_budget", "x"}}, kReference));  // not looked at
  EXPECT_FALSE(accepts({{"thinking_token_budget", "x"}}, kServer));
  const auto limit = [](const Json& body) {
    return prepare(chat_body(body)).requests[0].sampling.thinking_limit;
  };
  const Json on = {{"type", "enabled"}, {"budget_tokens", 7}};
  EXPECT_EQ(limit({{"thinking", on}})->max_tokens, 7);
  EXPECT_EQ(limit({{"thinking", on}})->close_token, v41_recipe().control().think_end);
  EXPECT_EQ(limit({{"thinking", on}, {"thinking_token_budget", 0}})->max_tokens, 0);
  EXPECT_EQ(limit({{"thinking_token_budget", 1ULL << 40}})->max_tokens, INT32_MAX);
  EXPECT_FALSE(limit(with(kOff, {{"thinking_token_budget", 5}})).has_value());
  EXPECT_FALSE(limit(Json::object()).has_value());
  for (const Json& bad : {Json(-1), Json(1.5), Json("5"), Json(true)}) {
    EXPECT_EQ(refusal(chat_body({{"thinking_token_budget", bad}})).param(),
              "thinking_token_budget");
  }
}

TEST(RecipePolicy, ThinkingBudgetCountsWhereThePromptEndsInsideReasoning) {
  const auto limit = [](const Json& last) {
    const Json messages = Json::array({{{"role", "user"}, {"content", "a"}}, last});
    return prepare(chat_body({{"messages", messages}, {"thinking_token_budget", 5}}))
        .requests[0]
        .sampling.thinking_limit.has_value();
  };
  const Json prefix = {{"role", "assistant"}, {"prefix", true}, {"content", ""}};
  EXPECT_TRUE(limit(with(prefix, {{"reasoning_content", "so"}})));
  EXPECT_FALSE(limit(with(prefix, {{"content", "The answer"}})));
}

TEST(RecipePolicy, ParallelToolCalls) {
  const std::string call =
      "<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x"
      "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n";
  const std::vector<TokenId> tokens =
      script("<｜DSML｜ calls>\n" + call + call + "</｜DSML｜ calls>");
  const Json function = {{"name", "f"}};
  Json body = with(kOff, {{"parallel_tool_calls", false}});
  body["tools"] = Json::array({{{"type", "function"}, {"function", function}}});
  const auto calls = [&](const RecipePolicy& policy) {
    return stream(body, tokens, policy)["response"]["choices"][0]["message"]["tool_calls"].size();
  };
  EXPECT_EQ(calls(kReference), 2U);
  EXPECT_EQ(calls(kServer), 1U);
  body["parallel_tool_calls"] = true;
  EXPECT_EQ(calls(kServer), 2U);
}

TEST(RecipePolicy, TemplateArguments) {
  const auto thinks = [](const Json& body, const RecipePolicy& policy) {
    return !convert(body, policy)["parsing"]["thinking_initial_stage"].is_null();
  };
  const auto with_arguments = [](const Json& arguments) {
    return Json{{"chat_template_kwargs", arguments}};
  };
  for (const char* name : {"thinking", "enable_thinking"}) {
    EXPECT_FALSE(thinks(with_arguments({{name, false}}), kServer)) << name;
    EXPECT_TRUE(thinks(with_arguments({{name, true}}), kServer)) << name;
    EXPECT_TRUE(thinks(with_arguments({{name, false}}), kReference)) << name;
    EXPECT_FALSE(accepts(with_arguments({{name, "no"}}), kServer)) << name;
  }
  EXPECT_FALSE(thinks(with(kOff, with_arguments({{"thinking", true}})), kServer));
  EXPECT_FALSE(thinks(with_arguments({{"reasoning_effort", "none"}}), kServer));
  EXPECT_TRUE(accepts(with_arguments({{"other", 1}}), kServer));
}

TEST(RecipePolicy, RefuseUnenforced) {
  for (const Json& body :
       {Json{{"guided_whitespace_pattern", " "}},
        Json{{"structured_outputs", {{"structural_tag", "{}"}}}}, Json{{"repetition_penalty", 1.2}},
        Json{{"continue_final_message", true}}, Json{{"modalities", Json::array({"audio"})}},
        Json{{"ebnf", "root ::= \"a\""}}, Json{{"functions", Json::array()}}}) {
    EXPECT_TRUE(accepts(body, kReference)) << body;
    EXPECT_FALSE(accepts(body, kServer)) << body;
  }
  EXPECT_TRUE(accepts({{"repetition_penalty", 1}, {"best_of", 1}, {"echo", false}}, kServer));
}

TEST(RecipePolicy, EnforcesWhatTheReferenceOnlyDescribes) {
  using Kind = ConstraintSpec::Kind;
  const auto constraint = [](const Json& more) {
    return prepare(chat_body(with(kOff, more))).requests[0].constraint;
  };
  const Json json = {{"messages", Json::array({{{"role", "user"}, {"content", "json"}}})}};
  EXPECT_EQ(constraint(with(json, {{"response_format", {{"type", "json_object"}}}}))->kind,
            Kind::kJsonObject);
  EXPECT_EQ(constraint({{"response_format", {{"type", "regex"}, {"regex", "a"}}}})->text, "a");
  EXPECT_EQ(constraint({{"guided_regex", "b"}})->kind, Kind::kRegex);
  EXPECT_EQ(constraint({{"guided_json", Json::object()}})->text, "{}");
  EXPECT_EQ(constraint({{"guided_choice", {"x", "y"}}})->choices.size(), 2U);
  EXPECT_EQ(constraint({{"structured_outputs", {{"grammar", "root ::= \"a\""}}}})->param,
            "structured_outputs.grammar");
  EXPECT_FALSE(constraint({{"response_format", {{"type", "text"}}}}).has_value());
}

TEST(RecipePolicy, ForcedCallsAreEnforcedBehindTheReasoning) {
  const Json function = {{"name", "f"}, {"parameters", {{"type", "object"}}}};
  const Json forced = {{"tools", Json::array({{{"type", "function"}, {"function", function}}})},
                       {"tool_choice", "required"},
                       {"parallel_tool_calls", false}};
  const recipe::ControlTokens& control = v41_recipe().control();
  const auto plain = *prepare(chat_body(with(kOff, forced))).requests[0].constraint;
  EXPECT_TRUE(plain.begins_in_block && plain.call_required && plain.single_call);
  EXPECT_FALSE(plain.starts_after.has_value());
  EXPECT_EQ(plain.markup.marker, control.dsml);
  EXPECT_EQ(plain.markup.block, " calls");
  const auto prepared = prepare(chat_body(forced));
  const auto thinking = *prepared.requests[0].constraint;
  EXPECT_FALSE(thinking.begins_in_block);
  EXPECT_EQ(thinking.starts_after, control.think_end);
  EXPECT_EQ(prepared.requests[0].prompt.back(), control.think_start);
}

TEST(RecipePolicy, GuidedOutputStandsAlone) {
  const Json tool = {{"type", "function"}, {"function", {{"name", "f"}}}};
  const Json regex = {{"guided_regex", "a"}};
  EXPECT_EQ(refusal(chat_body(with(regex, {{"guided_choice", {"a"}}}))).param(), "guided_choice");
  EXPECT_EQ(refusal(chat_body(with(regex, {{"tools", Json::array({tool})}}))).param(),
            "guided_regex");
  EXPECT_EQ(
      refusal(chat_body(with(regex, {{"response_format", {{"type", "regex"}, {"regex", "b"}}}})))
          .param(),
      "guided_regex");
  EXPECT_TRUE(accepts(with(regex, {{"response_format", {{"type", "text"}}}}), kServer));
}

TEST(RecipePolicy, RefuseImages) {
  const Json part = {{"type", "image_url"}, {"image_url", {{"url", "https://x"}}}};
  const Json body = {
      {"messages", Json::array({{{"role", "user"}, {"content", Json::array({part})}}})}};
  EXPECT_TRUE(accepts(body, kReference));
  EXPECT_FALSE(accepts(body, kServer));
}

TEST(RecipePolicy, BoundedStop) {
  const Json short_enough = with(kOff, {{"stop", std::string(1024, 'x')}});
  const Json too_long = with(kOff, {{"stop", std::string(1025, 'x')}});
  EXPECT_TRUE(accepts(short_enough, kServer));
  EXPECT_FALSE(accepts(too_long, kServer));
  EXPECT_TRUE(accepts(too_long, kReference));
}

TEST(RecipePolicy, RefusesAForcedCallWithoutTools) {
  const Json body = with(kOff, {{"tool_choice", "required"}});
  EXPECT_TRUE(accepts(body, kReference));
  EXPECT_FALSE(accepts(body, kServer));
  EXPECT_TRUE(accepts(with(kOff, {{"tool_choice", "none"}}), kServer));
}

TEST(RecipePolicy, OutputToContextEndAndContextLengthCode) {
  const auto resolve = [](uint64_t prompt, const RecipePolicy& policy) {
    Json body = {{"model", "DeepSeek-V4.1-Flash"}};
    body["messages"] = Json::array({{{"role", "user"}, {"content", "x"}}});
    return *cli::RecipeKinds(nullptr, policy)
                .run("max-tokens",
                     {{"body", body}, {"prompt_tokens", prompt}, {"context_limit", 100000}});
  };
  EXPECT_EQ(resolve(10, kReference)["max_tokens"], 65536);
  EXPECT_EQ(resolve(10, kServer)["max_tokens"], 99990);
  EXPECT_EQ(resolve(100000, kReference)["max_tokens"], 1);
  EXPECT_EQ(resolve(99999, kServer)["max_tokens"], 1);
  EXPECT_EQ(resolve(100000, kServer)["body"]["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(resolve(100001, kReference)["body"]["error"]["code"], "invalid_request_error");
}

TEST(RecipePolicy, ErrorParam) {
  EXPECT_EQ(convert({{"temperature", 3}}, kReference)["body"]["error"]["param"], nullptr);
  EXPECT_EQ(convert({{"temperature", 3}}, kServer)["body"]["error"]["param"], "temperature");
}

TEST(RecipePolicy, HideMarkup) {
  const auto tokens = script("a<｜User｜>b｜DSML｜c");
  EXPECT_EQ(stream(kOff, tokens, kReference)["response"]["choices"][0]["message"]["content"],
            "a<｜User｜>b｜DSML｜c");
  EXPECT_EQ(stream(kOff, tokens, kServer)["response"]["choices"][0]["message"]["content"], "ab");
}

const std::string kCut =
    "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"k\" "
    "string=\"false\">x</｜DSML｜ parameter>\n";

Json tool_request() {
  Json tool = {{"name", "f"}};
  return with(kOff, {{"tools", Json::array({{{"type", "function"}, {"function", tool}}})}});
}

TEST(RecipePolicy, TypedArguments) {
  const auto tokens = script(kCut + "</｜DSML｜ invoke>");
  const auto arguments = [&](const RecipePolicy& policy) {
    return stream(
        tool_request(), tokens,
        policy)["response"]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
  };
  EXPECT_EQ(arguments(kReference), R"({"k": x})");
  EXPECT_EQ(arguments(kServer), R"({"k": "x"})");
}

TEST(RecipePolicy, WholeCallsOnly) {
  const auto choice = [&](const RecipePolicy& policy) {
    return stream(tool_request(), script(kCut), policy)["response"]["choices"][0];
  };
  EXPECT_EQ(choice(kReference)["finish_reason"], "tool_calls");
  EXPECT_EQ(choice(kServer)["finish_reason"], "stop");
  EXPECT_FALSE(choice(kServer)["message"].contains("tool_calls"));
}

TEST(RecipePolicy, FlushPartialCharacter) {
  std::vector<TokenId> tokens = script("a🫠");
  tokens.pop_back();
  // They came together, so the reference drops the letter as well.
  EXPECT_EQ(stream(kOff, tokens, kReference)["response"]["choices"][0]["message"]["content"], "");
  EXPECT_EQ(stream(kOff, tokens, kServer)["response"]["choices"][0]["message"]["content"],
            "a\xEF\xBF\xBD");
}

TEST(RecipePolicy, LeanDeltasAndUsageChunk) {
  const Json reference = stream(kOff, script("a"), kReference);
  EXPECT_EQ(reference["pushes"][0][0]["choices"][0]["delta"],
            (Json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_TRUE(reference["pushes"][1][0].contains("usage"));
  const Json server =
      stream(with(kOff, {{"stream_options", {{"include_usage", true}}}}), script("a"), kServer);
  EXPECT_EQ(server["pushes"][0][0]["choices"][0]["delta"],
            (Json{{"role", "assistant"}, {"content", "a"}}));
  EXPECT_EQ(server["pushes"][1][0]["choices"][0]["delta"], Json::object());
  EXPECT_FALSE(server["pushes"][1][0].contains("usage"));
  EXPECT_EQ(server["end"][0]["choices"], Json::array());
}

TEST(RecipePolicy, ContinuousUsage) {
  Json body = with(kOff, {{"stream", true}});
  body["stream_options"] = {{"include_usage", true}, {"continuous_usage_stats", 5}};
  EXPECT_TRUE(accepts(body, kReference));  // not looked at
  EXPECT_FALSE(accepts(body, kServer));
}

TEST(RecipePolicy, LogprobsOnce) {
  const Played played =
      play(with(with(kOff, {{"stream", true}, {"logprobs", true}}), {{"stop", {"zzz"}}}),
           script("\nab cd"));
  const Json& entries = played.response["choices"][0]["logprobs"]["content"];
  std::string text;
  for (const Json& entry : entries) {
    text += entry["token"].get<std::string>();
  }
  EXPECT_EQ(text, "ab cd");
}

TEST(RecipePolicy, CountAsGenerated) {
  // `wor` and `ld` are one token when encoded again.
  const std::vector<TokenId> tokens = {script("wor")[0], script("ld")[0]};
  const auto reasoning = [&](const RecipePolicy& policy) {
    return stream(Json::object(), tokens,
                  policy)["response"]["usage"]["completion_tokens_details"]["reasoning_tokens"];
  };
  EXPECT_EQ(reasoning(kReference), 1);
  EXPECT_EQ(reasoning(kServer), 2);
}

TEST(RecipePolicy, PadJson) {
  RecipePolicy unpadded = kReference;
  unpadded.pad_json = false;
  const Json body =
      with(kOff, {{"response_format", {{"type", "json_object"}}},
                  {"messages", Json::array({{{"role", "user"}, {"content", "json"}}})}});
  const auto content = [&](const RecipePolicy& policy) {
    return stream(body, script("Sure: {\"a\": 1}"),
                  policy)["response"]["choices"][0]["message"]["content"];
  };
  EXPECT_EQ(content(kReference), " {\"a\": 1}");
  EXPECT_EQ(content(unpadded), "{\"a\": 1}");
}

const Json kMessagesTool = {{"name", "f"}, {"input_schema", {{"type", "object"}}}};

TEST(RecipePolicy, CustomToolType) {
  const Json tools = {{"tools", Json::array({with(kMessagesTool, {{"type", "custom"}})})}};
  EXPECT_FALSE(convert_messages(tools, kReference)["ok"]);
  EXPECT_TRUE(convert_messages(tools, kServer)["ok"]);
}

TEST(RecipePolicy, MessagesExtensions) {
  const Json top_k = {{"top_k", "x"}};
  EXPECT_TRUE(convert_messages(top_k, kReference)["ok"]);
  EXPECT_FALSE(convert_messages(top_k, kServer)["ok"]);
  const Json redacted = Json::parse(R"({"messages":[{"role":"assistant","content":[
      {"type":"redacted_thinking","data":"x"},{"type":"text","text":"y"}]}]})");
  EXPECT_EQ(convert_messages(redacted, kReference)["stage"], "parse");
  EXPECT_TRUE(convert_messages(redacted, kServer)["ok"]);
  const Json document = Json::parse(R"({"messages":[{"role":"user","content":[{"type":"document",
      "source":{"type":"text","media_type":"text/plain","data":"the text"}}]}]})");
  const auto shows = [&](const RecipePolicy& policy) {
    return convert_messages(document, policy)["prompt"].get<std::string>().find("the text") !=
           std::string::npos;
  };
  EXPECT_FALSE(shows(kReference));
  EXPECT_TRUE(shows(kServer));
}

TEST(RecipePolicy, AnyForcesACall) {
  const Json any = {{"tools", Json::array({kMessagesTool})}, {"tool_choice", {{"type", "any"}}}};
  const Json free = convert_messages(any, kReference);
  EXPECT_EQ(free["options"]["output_constraint"]["kind"], "tool_call");
  const Json forced = convert_messages(any, kServer);
  EXPECT_EQ(forced["options"]["output_constraint"]["kind"], "tool_call_required");
}

TEST(RecipePolicy, EmptySchema) {
  const Json function = {{"name", "f"}, {"parameters", Json::object()}};
  const Json body = {{"tools", Json::array({{{"type", "function"}, {"function", function}}})}};
  EXPECT_FALSE(accepts(body, kReference));
  const PreparedCompletion prepared = prepare(chat_body(body));
  Json absent = body;
  absent["tools"][0]["function"].erase("parameters");
  EXPECT_EQ(prompt_of(prepared), prompt_of(prepare(chat_body(absent))));
}

TEST(RecipePolicy, AddedToolsOnce) {
  const Json body = Json::parse(R"({"messages":[{"role":"user","content":"x"},
      {"role":"system","content":[
          {"type":"tool_addition","tool":{"type":"tool_reference","name":"late"}},
          {"type":"tool_addition","tool":{"type":"tool_reference","name":"late"}}]},
      {"role":"system","content":[
          {"type":"tool_addition","tool":{"type":"tool_reference","name":"late"}}]}],
      "tools":[{"name":"f","input_schema":{"type":"object"}},
               {"name":"late","input_schema":{"type":"object"},"defer_loading":true}]})");
  const auto declarations = [&](const RecipePolicy& policy) {
    const std::string prompt = convert_messages(body, policy)["prompt"];
    int count = 0;
    for (size_t at = prompt.find("\"late\""); at != std::string::npos;
         at = prompt.find("\"late\"", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(declarations(kReference), 3);
  EXPECT_EQ(declarations(kServer), 1);
}

TEST(RecipePolicy, MessagesErrors) {
  const Json bad = {{"temperature", 9}};
  EXPECT_FALSE(convert_messages(bad, kReference)["body"].contains("type"));
  const Json body = convert_messages(bad, kServer)["body"];
  EXPECT_EQ(body["type"], "error");
  EXPECT_EQ(body["error"]["type"], "invalid_request_error");
}

TEST(RecipePolicy, LeanBlocks) {
  Json input = {{"protocol", "messages"}, {"response_id", "i"}, {"model", "m"}};
  input["body"] = {{"model", "DeepSeek-V4.1-Flash"}, {"stream", true}};
  input["body"]["messages"] = Json::array({{{"role", "user"}, {"content", "x"}}});
  input["chunks"] = Json::array(
      {{{"kind", "text"}, {"content", "</think>yes"}}, {{"kind", "finish"}, {"reason", "stop"}}});
  const auto blocks = [&](const RecipePolicy& policy) {
    const cli::RecipeKinds kinds(&v41_recipe().tokenizer(), policy);
    return (*kinds.run("messages-stream", input))["response"]["content"].size();
  };
  EXPECT_EQ(blocks(kReference), 2U);
  EXPECT_EQ(blocks(kServer), 1U);
}

TEST(ReferenceOrder, APrefixIsCheckedAgainstTheFormatBeforeTools) {
  Json body = Json::parse(R"({"messages":[{"role":"user","content":"json"},
      {"role":"assistant","content":"p","prefix":true}],
      "tools":[{"type":"function","function":{"name":"f"}}]})");
  const auto message = [&] {
    return convert(body, kReference)["body"]["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(message(), "Function call should not be used with prefix");
  body["response_format"] = {{"type", "json_object"}};
  EXPECT_EQ(message(), "response_format json_object should not be used with prefix");
}

}  // namespace
}  // namespace deepinfer::protocol::test
