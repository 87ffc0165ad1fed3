#include <gtest/gtest.h>

#include <fstream>

#include "case_compare.h"
#include "cli/recipe_kinds.h"
#include "support.h"

namespace deepinfer::protocol::test {
namespace {

/// Every case of `kind` under the reference policy.
void check_corpus(const std::string& kind, int min_cases) {
  const cli::RecipeKinds kinds(&v41_recipe().tokenizer(), RecipePolicy::reference());
  std::ifstream file("tests/data/recipe/" + kind + ".jsonl");
  int cases = 0;
  int wrong = 0;
  for (std::string line; std::getline(file, line);) {
    const Json recorded = Json::parse(line);
    ++cases;
    const auto got = kinds.run(kind, recorded["input"]);
    const std::string problem =
        got ? difference(kind, recorded["input"], recorded["expected"], *got)
            : got.error().message();
    if (!problem.empty() && ++wrong <= 10) {
      ADD_FAILURE() << recorded["id"] << ": " << problem.substr(0, 1000);
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(cases, min_cases);
}

TEST(FieldCase, R08_T11_T22_RecordedConversationsRenderAsTheReferenceDoes) {
  check_corpus("chat-convert", 1988);
}

TEST(Corpus, MaxTokensAgrees) {
  check_corpus("max-tokens", 79);
}

TEST(Corpus, ChatStreamAgrees) {
  check_corpus("chat-stream", 1034);
}

TEST(Corpus, MessagesConvertAgrees) {
  check_corpus("messages-convert", 447);
}

TEST(Corpus, MessagesStreamAgrees) {
  check_corpus("messages-stream", 113);
}

TEST(Corpus, ResponsesConvertAgrees) {
  check_corpus("responses-convert", 383);
}

TEST(Corpus, ResponsesStreamAgrees) {
  check_corpus("responses-stream", 91);
}

TEST(Corpus, TheComparisonRejectsOtherAnswers) {
  std::ifstream file("tests/data/recipe/chat-stream.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Json recorded = Json::parse(line);
  Json other = recorded["expected"];
  EXPECT_EQ(difference("chat-stream", recorded["input"], recorded["expected"], other), "");
  other["response"]["choices"][0]["message"]["content"] = "something else";
  EXPECT_NE(difference("chat-stream", recorded["input"], recorded["expected"], other), "");
}

TEST(Corpus, TheComparisonRejectsOtherMessages) {
  std::ifstream file("tests/data/recipe/messages-stream.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Json recorded = Json::parse(line);
  const Json expected = recorded["expected"];
  const auto problem = [&](const Json& got) {
    return difference("messages-stream", recorded["input"], expected, got);
  };
  EXPECT_EQ(problem(expected), "");
  Json without_ping = expected;
  without_ping["pushes"][0].erase(2);
  EXPECT_NE(problem(without_ping), "");
  Json other_text = expected;
  other_text["pushes"][1][0]["delta"]["thinking"] = "something else";
  EXPECT_NE(problem(other_text), "");
}

TEST(Corpus, TheComparisonRejectsOtherResponses) {
  std::ifstream file("tests/data/recipe/responses-stream.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Json recorded = Json::parse(line);
  const Json expected = recorded["expected"];
  const auto problem = [&](const Json& got) {
    return difference("responses-stream", recorded["input"], expected, got);
  };
  EXPECT_EQ(problem(expected), "");
  Json numbered_wrong = expected;
  numbered_wrong["pushes"][0][0]["sequence_number"] = 7;
  EXPECT_NE(problem(numbered_wrong), "");
  Json without_item = expected;
  without_item["response"]["output"].erase(0);
  EXPECT_NE(problem(without_item), "");
}

}  // namespace
}  // namespace deepinfer::protocol::test
