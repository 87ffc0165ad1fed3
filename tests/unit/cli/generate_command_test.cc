#include "cli/generate_command.h"

#include <gmock/gmock.h>

#include <memory>
#include <sstream>
#include <string>

#include "cli/generate_line.h"
#include "tests/unit/cli/scripted_llm.h"

namespace deepinfer::cli {
namespace {

TEST(GenerateLines, AnswersEveryLineInOrderAndSkipsBlankOnes) {
  const auto recipe = recipe::Recipe::make("tests/data/tiny-a", "tests/data/tiny-a");
  ASSERT_TRUE(recipe.has_value()) << recipe.error().message();
  ScriptedLlm llm(/*capacity=*/2, /*vocab_size=*/512);
  std::istringstream in(
      "{\"id\": \"a\", \"prompt_token_ids\": [5, 6, 7]}\n"
      "\n"
      "oops\n"
      "{\"id\": \"c\", \"prompt_token_ids\": [8]}\r\n"
      "{\"id\": \"d\", \"prompt_token_ids\": [9, 9]}");  // no line end
  std::ostringstream out;
  const int64_t failed = generate_lines(in, out, /*terminal=*/nullptr, llm, **recipe, 8);
  EXPECT_EQ(failed, 1);

  std::istringstream answers(out.str());
  std::vector<Json> lines;
  for (std::string line; std::getline(answers, line);) {
    lines.push_back(Json::parse(line));
  }
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["id"], "a");
  EXPECT_EQ(lines[0]["token_ids"], Json({5, 6, 7}));
  EXPECT_EQ(lines[1]["id"], 3);
  EXPECT_EQ(lines[1]["error"].get<std::string>().rfind("line 3 is not a JSON object: ", 0), 0U);
  EXPECT_EQ(lines[2]["id"], "c");
  EXPECT_EQ(lines[3]["token_ids"], Json({9, 9}));
}

}  // namespace
}  // namespace deepinfer::cli
