#include "cli/generate_line.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>

namespace deepinfer::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

class GenerateLineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = recipe::Recipe::make("tests/data/tiny-a", "tests/data/tiny-a");
    ASSERT_TRUE(made.has_value()) << made.error().message();
    recipe_ = std::move(made).value().release();
  }
  static void TearDownTestSuite() { delete std::exchange(recipe_, nullptr); }

  static GenerateLine parse(std::string_view text) {
    return parse_generate_line(text, /*line_number=*/7, {.vocab_size = 512, .max_model_len = 4096},
                               *recipe_);
  }
  static std::string error_of(std::string_view text) {
    const GenerateLine line = parse(text);
    return line.request.has_value() ? "no error" : line.request.error().message();
  }

  static const recipe::Recipe* recipe_;
};

const recipe::Recipe* GenerateLineTest::recipe_ = nullptr;

TEST_F(GenerateLineTest, ReadsEveryMember) {
  const GenerateLine line = parse(R"({"id": "q1", "prompt_token_ids": [5, 0, 511], "max_tokens": 9,
      "temperature": 0.5, "top_p": 0.25, "seed": 18446744073709551615, "ignore_eos": true,
      "probe_logits": [1, 2]})");
  ASSERT_TRUE(line.request.has_value()) << line.request.error().message();
  EXPECT_EQ(line.id, "q1");
  EXPECT_EQ(line.request->id, "q1");
  EXPECT_THAT(line.request->prompt, ElementsAre(5, 0, 511));
  EXPECT_EQ(line.request->max_tokens, 9);
  EXPECT_FLOAT_EQ(line.request->sampling.temperature, 0.5F);
  EXPECT_FLOAT_EQ(line.request->sampling.top_p, 0.25F);
  EXPECT_THAT(line.request->sampling.seed, Optional(18446744073709551615ULL));
  EXPECT_TRUE(line.request->ignore_eos);
  EXPECT_THAT(line.request->probe_logits, ElementsAre(1, 2));
}

TEST_F(GenerateLineTest, RefusesDeepNesting) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string member : {"id", "other", "messages"}) {
    EXPECT_THAT(
        error_of("{\"" + member + "\":" + deep + ",\"prompt\":\"a\"}"),
        HasSubstr("line 7 is not a JSON object: invalid JSON: nested deeper than 64 levels"));
  }
}

TEST_F(GenerateLineTest, LeavesDefaultsWhereALineIsSilent) {
  const GenerateLine line = parse(R"({"prompt_token_ids": [5]})");
  ASSERT_TRUE(line.request.has_value());
  EXPECT_EQ(line.id, 7);  // the line's number
  EXPECT_EQ(line.request->max_tokens, kDefaultMaxTokens);
  EXPECT_FLOAT_EQ(line.request->sampling.temperature, 1.0F);
  EXPECT_FALSE(line.request->sampling.seed.has_value());
}

TEST_F(GenerateLineTest, PutsBosInFrontOfAPlainPrompt) {
  const GenerateLine line = parse(R"({"prompt": "the"})");
  ASSERT_TRUE(line.request.has_value()) << line.request.error().message();
  std::vector<TokenId> expected = {recipe_->control().bos};
  for (const TokenId id : recipe_->tokenizer().encode_plain("the")) {
    expected.push_back(id);
  }
  EXPECT_EQ(line.request->prompt, expected);
}

TEST_F(GenerateLineTest, KeepsControlTokenSpellingsOfAPromptAsText) {
  const GenerateLine line = parse(R"({"prompt": "<｜end▁of▁sentence｜>"})");
  ASSERT_TRUE(line.request.has_value());
  EXPECT_GT(line.request->prompt.size(), 2U);
}

TEST_F(GenerateLineTest, RendersMessagesAndKeepsTheLinesSampling) {
  const GenerateLine line = parse(R"({"id": 3, "messages": [{"role": "user", "content": "hi"}],
      "thinking": {"type": "disabled"}, "temperature": 0, "max_tokens": 4})");
  ASSERT_TRUE(line.request.has_value()) << line.request.error().message();
  EXPECT_EQ(line.request->prompt.front(), recipe_->control().bos);
  EXPECT_FLOAT_EQ(line.request->sampling.temperature, 0.0F);
  EXPECT_EQ(line.request->max_tokens, 4);
}

TEST_F(GenerateLineTest, ReportsWhatTheChatConversionRefuses) {
  EXPECT_THAT(error_of(R"({"messages": []})"), HasSubstr("Empty input messages"));
}

TEST_F(GenerateLineTest, SaysWhatIsWrongWithALine) {
  EXPECT_THAT(error_of("{"), HasSubstr("line 7 is not a JSON object"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("line 7 is not a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("exactly one of"));
  EXPECT_THAT(error_of(R"({"prompt": "a", "prompt_token_ids": [1]})"), HasSubstr("exactly one of"));
  EXPECT_THAT(error_of(R"({"prompt": 3})"), HasSubstr("prompt must be a string, got number"));
  EXPECT_THAT(error_of(R"({"prompt_token_ids": [512]})"), HasSubstr("512 is not in [0, 512)"));
  EXPECT_THAT(error_of(R"({"prompt_token_ids": [-1]})"), HasSubstr("-1 is not in [0, 512)"));
  EXPECT_THAT(error_of(R"({"prompt_token_ids": [4294967297]})"), HasSubstr("out of range"));
  EXPECT_THAT(error_of(R"({"prompt_token_ids": ["1"]})"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of(R"({"prompt_token_ids": 1})"), HasSubstr("must be an array"));
  EXPECT_THAT(error_of(R"({"prompt_token_ids": []})"), HasSubstr("at least one token"));
}

TEST_F(GenerateLineTest, ChecksEveryMembersTypeAndRange) {
  const auto with = [](const std::string& member) {
    return error_of(R"({"prompt_token_ids": [1], )" + member + "}");
  };
  EXPECT_THAT(with(R"("max_tokens": 0)"), HasSubstr("max_tokens must be at least 1"));
  EXPECT_THAT(with(R"("max_tokens": 1.5)"), HasSubstr("max_tokens must be an integer"));
  EXPECT_THAT(with(R"("max_tokens": 2147483648)"), HasSubstr("max_tokens is out of range"));
  EXPECT_THAT(with(R"("temperature": -1)"), HasSubstr("temperature must be in"));
  EXPECT_THAT(with(R"("temperature": "hot")"), HasSubstr("temperature must be a number"));
  EXPECT_THAT(with(R"("top_p": 0)"), HasSubstr("top_p must be in"));
  EXPECT_THAT(with(R"("seed": -1)"), HasSubstr("seed is out of range"));
  EXPECT_THAT(with(R"("ignore_eos": 1)"), HasSubstr("ignore_eos must be true or false"));
  EXPECT_THAT(with(R"("probe_logits": [600])"), HasSubstr("probe_logits: 600 is not in"));
  EXPECT_THAT(with(R"("max_token": 3)"), HasSubstr("unknown member 'max_token'"));
  EXPECT_THAT(with(R"("tools": [])"), HasSubstr("unknown member 'tools'"));
}

TEST_F(GenerateLineTest, KeepsTheIdOfALineThatFails) {
  const GenerateLine line = parse(R"({"id": {"a": 1}, "prompt": 3})");
  EXPECT_FALSE(line.request.has_value());
  EXPECT_EQ(format_generate_line(line.id, line.request.error(), recipe_->tokenizer()),
            R"({"id":{"a":1},"error":"prompt must be a string, got number"})");
}

TEST_F(GenerateLineTest, WritesAnAnswer) {
  Generation generation;
  generation.tokens = recipe_->tokenizer().encode_plain("the the");
  generation.finish = FinishReason::kLength;
  generation.usage = {.prompt_tokens = 3, .cached_tokens = 1, .completion_tokens = 2};
  generation.probe_logits = {{4, 0.5F}, {9, -2.0F}};
  const Json answer = Json::parse(format_generate_line("a", generation, recipe_->tokenizer()));
  EXPECT_EQ(answer["id"], "a");
  EXPECT_EQ(answer["token_ids"], Json(generation.tokens));
  EXPECT_EQ(answer["text"], "the the");
  EXPECT_EQ(answer["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 2);
  EXPECT_EQ(answer["logits"]["9"], -2.0);
}

TEST_F(GenerateLineTest, LeavesTheTokenThatEndedTheGenerationOutOfTheText) {
  Generation generation;
  generation.tokens = recipe_->tokenizer().encode_plain("the");
  generation.tokens.push_back(recipe_->control().eos);
  generation.finish = FinishReason::kStop;
  const Json answer = Json::parse(format_generate_line(1, generation, recipe_->tokenizer()));
  EXPECT_EQ(answer["text"], "the");
  EXPECT_EQ(answer["token_ids"].back(), recipe_->control().eos);
  EXPECT_FALSE(answer.contains("logits"));
}

}  // namespace
}  // namespace deepinfer::cli
