#include "recipe/recipe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "corpus.h"
#include "recipe/output_parser.h"

namespace deepinfer::recipe {
namespace {

namespace fs = std::filesystem;

using Ids = std::vector<TokenId>;

/// A model directory with a config.json of its own, removed at the end.
class ModelDir {
 public:
  ModelDir() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / (std::string("recipe_") + test->name());
    fs::create_directories(dir_);
    configure(R"({"architectures": ["DeepseekV41ForCausalLM"]})");
  }
  ~ModelDir() { fs::remove_all(dir_); }
  ModelDir(const ModelDir&) = delete;
  ModelDir& operator=(const ModelDir&) = delete;

  std::string path() const { return dir_.string(); }

  void configure(const std::string& config) { std::ofstream(dir_ / "config.json") << config; }

  /// Writes a tokenizer.json whose added tokens are those of the tiny one and `spellings`.
  void write_tokenizer(const std::vector<std::string>& spellings) {
    std::ifstream source("tests/data/tiny-a/tokenizer.json");
    auto file = nlohmann::json::parse(source);
    int id = 512;
    for (const std::string& spelling : spellings) {
      file["added_tokens"].push_back({{"id", id++}, {"content", spelling}, {"special", true}});
    }
    std::ofstream(dir_ / "tokenizer.json") << file;
  }

  Result<std::unique_ptr<Recipe>> make(const std::string& tokenizer_dir) {
    return Recipe::make(dir_.string(), tokenizer_dir);
  }

  /// The message of the failure that a recipe for `config` ends in.
  std::string failure(const std::string& config) {
    configure(config);
    const auto recipe = make(test::kTokenizerDir);
    return recipe ? "no failure" : recipe.error().message();
  }

 private:
  fs::path dir_;
};

TEST(Recipe, FindsControlTokensBySpelling) {
  ModelDir model;
  const auto recipe = model.make(test::kTokenizerDir);
  ASSERT_TRUE(recipe) << recipe.error().message();
  EXPECT_TRUE((*recipe)->has_chat_tokens());
  EXPECT_EQ((*recipe)->control().bos, 0);
  EXPECT_EQ((*recipe)->control().eos, 1);
  EXPECT_EQ((*recipe)->control().think_start, 128821);
  EXPECT_EQ((*recipe)->control().think_end, 128822);
  EXPECT_EQ((*recipe)->control().dsml, 128825);
  EXPECT_EQ((*recipe)->image_token(), "<｜deepseek_image｜>");
}

TEST(Recipe, RendersImagesWithTheTokenizersSpelling) {
  ModelDir model;
  const auto recipe = model.make(test::kTokenizerDir);
  ASSERT_TRUE(recipe) << recipe.error().message();
  Conversation conversation;
  conversation.messages = {{.role = Role::kUser,
                            .content = (*recipe)->image_token(),
                            .images = {{.value = "http://a"}}}};
  const auto ids = (*recipe)->encode((*recipe)->render(conversation));
  ASSERT_TRUE(ids) << ids.error().message();
  EXPECT_EQ(*ids, (Ids{0, 128803, 129264, 128804, 128822}));
}

TEST(FieldCase, T11_TheArchitectureChoosesTheEncoding) {
  ModelDir model;
  const auto v41 = model.make(test::kTokenizerDir);
  ASSERT_TRUE(v41);
  EXPECT_EQ((*v41)->encoding(), Encoding::kV41);
  model.configure(R"({"architectures": ["DeepseekV4ForCausalLM"]})");
  const auto v4 = model.make(test::kTokenizerDir);
  ASSERT_TRUE(v4);
  EXPECT_EQ((*v4)->encoding(), Encoding::kV4);
  const std::string message = model.failure(R"({"architectures": ["DeepseekV41"]})");
  EXPECT_NE(message.find("config.json: architectures: expected DeepseekV41ForCausalLM or "
                         "DeepseekV4ForCausalLM, got DeepseekV41"),
            std::string::npos)
      << message;
}

TEST(FieldCase, T21_WhatAModelsRendererWritesItsParserReads) {
  for (const std::string architecture : {"DeepseekV41ForCausalLM", "DeepseekV4ForCausalLM"}) {
    ModelDir model;
    model.configure(R"({"architectures": [")" + architecture + R"("]})");
    const auto recipe = model.make(test::kTokenizerDir);
    ASSERT_TRUE(recipe) << recipe.error().message();
    Conversation conversation;
    conversation.messages = {{.role = Role::kUser, .content = "u"}};
    const auto prompt = (*recipe)->encode((*recipe)->render(conversation));
    conversation.messages.push_back(
        {.role = Role::kAssistant,
         .content = "ok",
         .tool_calls = {{.id = "c", .name = "f", .arguments = R"({"a": "x", "n": [1]})"}}});
    const auto whole = (*recipe)->encode((*recipe)->render(conversation));
    ASSERT_TRUE(prompt && whole);
    ASSERT_GT(whole->size(), prompt->size());
    // The assistant's turn is what the model would have generated.
    const Ids turn(whole->begin() + static_cast<ptrdiff_t>(prompt->size()), whole->end() - 1);
    OutputParser parser(&(*recipe)->tokenizer(), (*recipe)->control(), {.parse_tool_calls = true},
                        {.hide_markup = true, .typed_arguments = true});
    std::vector<MessageDelta> deltas;
    parser.push_tokens(turn, deltas);
    parser.finish(true, deltas);
    std::string content;
    std::string call;
    for (const MessageDelta& delta : deltas) {
      (delta.kind == MessageDelta::Kind::kContent ? content : call) += delta.text;
    }
    EXPECT_EQ(content, "ok") << architecture;
    EXPECT_EQ(call, R"(f{"a": "x", "n": [1]})") << architecture;
  }
}

TEST(Recipe, NamesWhatIsWrongWithTheConfiguration) {
  ModelDir model;
  EXPECT_NE(model.failure("{}").find("config.json: architectures: expected a list"),
            std::string::npos);
  EXPECT_NE(model.failure(R"({"architectures": []})").find("expected a list"), std::string::npos);
  EXPECT_NE(model.failure(R"({"architectures": "x"})").find("expected a list"), std::string::npos);
  EXPECT_NE(model.failure(R"({"architectures": [1]})").find("expected a list"), std::string::npos);
  EXPECT_NE(model.failure("[").find("config.json: expected a JSON object"), std::string::npos);
  fs::remove(fs::path(model.path()) / "config.json");
  const auto recipe = model.make(test::kTokenizerDir);
  ASSERT_FALSE(recipe);
  EXPECT_EQ(recipe.error().code(), StatusCode::kNotFound);
}

TEST(FieldCase, R14_ATokenizerWithoutAMarkerFailsByItsName) {
  ModelDir model;
  // All but THINK and DSML.
  model.write_tokenizer(
      {"<｜System｜>", "<｜User｜>", "<｜Assistant｜>", "</think>", "<｜latest_reminder｜>"});
  const auto recipe = model.make(model.path());
  ASSERT_FALSE(recipe);
  EXPECT_EQ(recipe.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(
      recipe.error().message().find("tokenizer.json: expected added_tokens with every control "
                                    "token of the encoding, missing: <think> ｜DSML｜"),
      std::string::npos)
      << recipe.error().message();
}

TEST(Recipe, V4NeedsNoSystemToken) {
  ModelDir model;
  const std::vector<std::string> tokens = {
      "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", "｜DSML｜", "<｜latest_reminder｜>"};
  model.write_tokenizer(tokens);
  const auto v41 = model.make(model.path());
  ASSERT_FALSE(v41);
  EXPECT_NE(v41.error().message().find("missing: <｜System｜>"), std::string::npos);
  model.configure(R"({"architectures": ["DeepseekV4ForCausalLM"]})");
  const auto v4 = model.make(model.path());
  ASSERT_TRUE(v4) << v4.error().message();
  EXPECT_EQ((*v4)->image_token(), "<｜image｜>");
}

TEST(Recipe, EncodesControlTokensAsTextWhereTheTokenizerHasNone) {
  const auto recipe = Recipe::make("tests/data/tiny-a", "tests/data/tiny-a");
  ASSERT_TRUE(recipe) << recipe.error().message();
  EXPECT_FALSE((*recipe)->has_chat_tokens());
  EXPECT_EQ((*recipe)->control().bos, 0);
  EXPECT_EQ((*recipe)->control().eos, 1);
  EXPECT_EQ((*recipe)->control().think_end, ControlTokens::kNone);
  EXPECT_EQ((*recipe)->control().dsml, ControlTokens::kNone);
  Conversation conversation;
  conversation.messages = {{.role = Role::kUser, .content = "hello"}};
  const auto ids = (*recipe)->encode((*recipe)->render(conversation));
  ASSERT_TRUE(ids) << ids.error().message();
  Ids expected = (*recipe)->tokenizer().encode_plain("<｜User｜>hello<｜Assistant｜></think>");
  expected.insert(expected.begin(), 0);
  EXPECT_EQ(*ids, expected);
}

}  // namespace
}  // namespace deepinfer::recipe
