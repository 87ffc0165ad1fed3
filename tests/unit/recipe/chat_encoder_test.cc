#include "recipe/chat_encoder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "corpus.h"

namespace deepinfer::recipe {
namespace {

using test::CaseJson;
using test::v41_tokenizer;

using Ids = std::vector<TokenId>;
using Ranges = std::vector<std::pair<size_t, size_t>>;

TEST(Render, AgreesWithTheReferenceOnEveryRecordedConversation) {
  for (const CaseJson& c : test::read_cases("render")) {
    const auto input = test::render_input(c.at("input"));
    const auto prompt = render(input.encoding, input.conversation, input.image_token);
    const auto& expected = c.at("expected");
    EXPECT_EQ(prompt.text, expected.at("prompt").get<std::string>()) << c.at("id");
    EXPECT_EQ(prompt.special_ranges, expected.at("special_ranges").get<Ranges>()) << c.at("id");
    EXPECT_EQ(test::images_json(prompt.images), expected.at("images")) << c.at("id");
  }
}

TEST(Encode, AgreesWithTheReferenceOnEveryRecordedConversation) {
  for (const CaseJson& c : test::read_cases("encode")) {
    const auto input = test::render_input(c.at("input"));
    const auto prompt = render(input.encoding, input.conversation, input.image_token);
    const auto ids = encode(prompt, v41_tokenizer());
    ASSERT_TRUE(ids) << c.at("id") << ids.error().message();
    EXPECT_EQ(*ids, c.at("expected").at("ids").get<Ids>()) << c.at("id");
  }
}

const std::vector<std::string> kControlSpellings = {"<｜begin▁of▁sentence｜>",
                                                    "<｜end▁of▁sentence｜>",
                                                    "<｜System｜>",
                                                    "<｜User｜>",
                                                    "<｜Assistant｜>",
                                                    "<think>",
                                                    "</think>",
                                                    "｜DSML｜",
                                                    "<｜latest_reminder｜>",
                                                    "<｜deepseek_image｜>",
                                                    "<｜image｜>",
                                                    "<｜▁pad▁｜>",
                                                    "<｜DSML｜ calls>",
                                                    "</｜DSML｜ invoke>",
                                                    "</tool_result>"};

/// A conversation with `text` everywhere a client can put some.
Conversation conversation_saying(const std::string& text) {
  Conversation conversation{.thinking_mode = true};
  conversation.tools = {{.name = text, .description = text, .parameters = {{text, text}}}};
  conversation.response_format = ResponseFormat::kJsonSchema;
  conversation.response_schema = {{text, {text}}};
  conversation.messages = {
      {.role = Role::kSystem, .content = text},
      {.role = Role::kUser, .content = text},
      {.role = Role::kAssistant,
       .content = text,
       .reasoning_content = text,
       .tool_calls = {{.id = text, .name = text, .arguments = Json({{text, text}}).dump()},
                      {.id = text + "2", .name = text, .arguments = text}}},
      {.role = Role::kTool, .content = text, .tool_call_id = text},
      {.role = Role::kTool, .content = text, .tool_call_id = text + "2"},
      {.role = Role::kLatestReminder, .content = text},
      {.role = Role::kSystem, .content = text, .tools = conversation.tools},
      {.role = Role::kUser, .content = text}};
  return conversation;
}

/// The special ids of a prompt, in order.
Ids special_ids(Encoding encoding, const Conversation& conversation) {
  const auto ids = encode(render(encoding, conversation), v41_tokenizer());
  if (!ids) return {};
  Ids special;
  for (const TokenId id : *ids) {
    if (v41_tokenizer().is_special(id)) special.push_back(id);
  }
  return special;
}

TEST(FieldCase, V17_ControlTokenSpellingsOfClientsStayText) {
  for (const Encoding encoding : {Encoding::kV4, Encoding::kV41}) {
    const Ids expected = special_ids(encoding, conversation_saying("harmless"));
    ASSERT_GT(expected.size(), 10U);
    for (const std::string& spelling : kControlSpellings) {
      EXPECT_EQ(special_ids(encoding, conversation_saying(spelling)), expected) << spelling;
      EXPECT_EQ(special_ids(encoding, conversation_saying("a" + spelling + spelling)), expected);
    }
  }
}

Conversation conversation_with_effort(std::optional<ReasoningEffort> effort, bool thinking) {
  Conversation conversation{.thinking_mode = thinking, .reasoning_effort = effort};
  conversation.messages = {{.role = Role::kUser, .content = "u"}};
  return conversation;
}

TEST(FieldCase, R08_EffortLevelsHaveTheNumbersOfTheReference) {
  const std::vector<std::pair<std::optional<ReasoningEffort>, std::string>> levels = {
      {ReasoningEffort::kLow, "50"},
      {ReasoningEffort::kHigh, "75"},
      {ReasoningEffort::kXhigh, "75"},
      {ReasoningEffort::kMax, "100"},
      {std::nullopt, "75"}};
  for (const auto& [effort, number] : levels) {
    EXPECT_EQ(render(Encoding::kV41, conversation_with_effort(effort, true)).text,
              "<｜begin▁of▁sentence｜><｜System｜>Reasoning Effort: " + number +
                  " (range 1-100, the higher the value, the more thorough the reasoning)\n\n"
                  "<｜User｜>u<｜Assistant｜><think>");
  }
}

TEST(FieldCase, R09_EachEffortLevelHasItsOwnPrompt) {
  for (const Encoding encoding : {Encoding::kV4, Encoding::kV41}) {
    const auto text = [&](std::optional<ReasoningEffort> effort, bool thinking = true) {
      return render(encoding, conversation_with_effort(effort, thinking)).text;
    };
    const std::vector<std::string> levels = {text(std::nullopt, false), text(ReasoningEffort::kLow),
                                             text(ReasoningEffort::kHigh),
                                             text(ReasoningEffort::kMax)};
    for (size_t i = 0; i < levels.size(); ++i) {
      for (size_t j = 0; j < i; ++j) EXPECT_NE(levels[i], levels[j]) << i << " and " << j;
    }
    // The documented aliases.
    EXPECT_EQ(text(ReasoningEffort::kXhigh), text(ReasoningEffort::kHigh));
    EXPECT_EQ(text(std::nullopt), text(ReasoningEffort::kHigh));
    // Without thinking there is no effort.
    EXPECT_EQ(text(ReasoningEffort::kMax, false), text(std::nullopt, false));
  }
}

TEST(FieldCase, T22_ResultsComeInTheOrderOfTheCallsInsideTheUserTurn) {
  Conversation conversation;
  conversation.messages = {
      {.role = Role::kUser, .content = "u"},
      {.role = Role::kAssistant,
       .tool_calls = {{.id = "call_9", .name = "f", .arguments = "{}"},
                      {.id = "call_10", .name = "g", .arguments = R"({"a": "b"})"}}},
      {.role = Role::kTool, .content = "ten", .tool_call_id = "call_10"},
      {.role = Role::kTool, .content = "nine", .tool_call_id = "call_9"},
      {.role = Role::kUser, .content = "and now?"}};
  const auto v41 = render(Encoding::kV41, conversation);
  const std::string calls =
      "<｜begin▁of▁sentence｜><｜User｜>u<｜Assistant｜></think>\n\n<｜DSML｜ calls>\n"
      "<｜DSML｜ invoke name=\"f\">\n\n</｜DSML｜ invoke>\n"
      "<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">b"
      "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls><｜end▁of▁sentence｜>";
  EXPECT_EQ(v41.text, calls +
                          "<｜User｜><tool_result>nine</tool_result>\n\n"
                          "<tool_result>ten</tool_result>\n\nand now?<｜Assistant｜></think>");
  // V4 goes by the ids, in byte order.
  const auto v4 = render(Encoding::kV4, conversation);
  EXPECT_NE(v4.text.find("<｜User｜><tool_result>ten</tool_result>\n\n"
                         "<tool_result>nine</tool_result>\n\nand now?<｜Assistant｜></think>"),
            std::string::npos);
  // The whole turn is one stretch of text, tokenized at once.
  const auto ids = encode(v41, v41_tokenizer());
  ASSERT_TRUE(ids);
  Ids tail = v41_tokenizer().encode_plain(
      "<tool_result>nine</tool_result>\n\n<tool_result>ten</tool_result>\n\nand now?");
  tail.insert(tail.begin(), 128803);
  tail.insert(tail.end(), {128804, 128822});
  ASSERT_GT(ids->size(), tail.size());
  EXPECT_EQ(Ids(ids->end() - static_cast<ptrdiff_t>(tail.size()), ids->end()), tail);
}

TEST(Render, ReadsArgumentsStrictly) {
  const auto parameters = [](const std::string& arguments) {
    Conversation conversation;
    conversation.messages = {{.role = Role::kAssistant,
                              .tool_calls = {{.id = "i", .name = "f", .arguments = arguments}}}};
    const std::string text = render(Encoding::kV41, conversation).text;
    const size_t begin = text.find("invoke name=\"f\">\n") + 17;
    return text.substr(begin, text.find("</｜DSML｜ invoke>") - begin);
  };
  const auto parameter = [](const std::string& key, const char* is_string,
                            const std::string& value) {
    return "<｜DSML｜ parameter name=\"" + key + "\" string=\"" + is_string + "\">" + value +
           "</｜DSML｜ parameter>\n";
  };
  EXPECT_EQ(parameters("{}"), "\n");
  EXPECT_EQ(parameters(R"({"a": 1e-7, "b": -0, "a": 2.0})"),
            parameter("a", "false", "2.0") + parameter("b", "false", "-0.0"));
  EXPECT_EQ(parameters(R"({"a": [null, {"b": "x\n"}]})"),
            parameter("a", "false", R"([null, {"b": "x\n"}])"));
  for (const char* raw :
       {"", "[1]", "\"s\"", "{\"a\": 1} x", "{\"a\": 01}", "{'a': 1}", "{\"a\": 1e999}"}) {
    EXPECT_EQ(parameters(raw), parameter("arguments", "true", raw));
  }
}

TEST(Render, PutsImagesWhereTheirTokensStand) {
  Conversation conversation;
  conversation.messages = {{.role = Role::kUser,
                            .content = "<image> and <image> <image>",
                            .images = {{.value = "http://a"}, {.value = "http://b"}}}};
  const auto prompt = render(Encoding::kV41, conversation, "<image>");
  ASSERT_EQ(prompt.images.size(), 2U);
  EXPECT_EQ(prompt.images[1].value, "http://b");
  std::vector<std::string> special;
  for (const auto& [begin, end] : prompt.special_ranges) {
    special.push_back(prompt.text.substr(begin, end - begin));
  }
  EXPECT_EQ(special, (std::vector<std::string>{"<｜begin▁of▁sentence｜>", "<｜User｜>", "<image>",
                                               "<image>", "<｜Assistant｜>", "</think>"}));
}

TEST(Encode, NamesAControlTokenThatTheTokenizerLacks) {
  const RenderedPrompt prompt{.text = "<｜User｜>a<nowhere>b",
                              .special_ranges = {{0, 12}, {13, 22}}};
  const auto ids = encode(prompt, v41_tokenizer());
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code(), StatusCode::kInternal);
  EXPECT_NE(ids.error().message().find("<nowhere>"), std::string::npos);
  // As text it is encoded together with what is around it.
  const auto as_text = encode(prompt, v41_tokenizer(), MissingTokens::kAsText);
  ASSERT_TRUE(as_text);
  Ids expected = v41_tokenizer().encode_plain("a<nowhere>b");
  expected.insert(expected.begin(), 128803);
  EXPECT_EQ(*as_text, expected);
}

}  // namespace
}  // namespace deepinfer::recipe
