#include <string>
#include <thread>
#include <vector>

#include "tests/unit/constraint/harness.h"

namespace deepinfer::constraint::testing {
namespace {

using Kind = ConstraintSpec::Kind;

TEST(ConstraintCompiler, KeepsWhatItCompiled) {
  ConstraintCompiler compiler(small_vocabulary(), {});
  const auto first = compiler.compile(schema_spec(R"({"type":"integer"})"));
  const auto again = compiler.compile(schema_spec(R"({"type":"integer"})"));
  const auto other = compiler.compile(schema_spec(R"({"type":"number"})"));
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(&first->impl(), &again->impl());
  EXPECT_NE(&first->impl(), &other->impl());
  EXPECT_GT(first->size_bytes(), 0U);
}

TEST(ConstraintCompiler, ForgetsWhenItsCacheIsFull) {
  ConstraintCompiler compiler(small_vocabulary(), {.cache_bytes = 1});
  const auto first = compiler.compile(schema_spec(R"({"type":"integer"})"));
  const auto again = compiler.compile(schema_spec(R"({"type":"integer"})"));
  ASSERT_TRUE(first && again);
  EXPECT_NE(&first->impl(), &again->impl());
}

TEST(ConstraintCompiler, NamesTheMemberOfTheRequest) {
  const auto refused = small_compiler().compile(schema_spec(R"({"not":{}})"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.error().param(), "schema");
  EXPECT_EQ(refused.error().reason(), "unsupported_schema");
}

TEST(FieldCase, G08_EachConstraintIsJudgedAlone) {
  const ConstraintSpec good = schema_spec(R"({"type":"integer"})");
  const ConstraintSpec bad{.kind = Kind::kGrammar, .text = "root ::= (", .param = "guided_grammar"};
  const ConstraintSpec regex{.kind = Kind::kRegex, .text = "[0-9]+"};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(refusal(good), "");
    EXPECT_NE(refusal(bad), "");
    EXPECT_EQ(refusal(regex), "");
  }
}

TEST(FieldCase, G06_ATimeoutIsNotKept) {
  const ConstraintSpec spec{.kind = Kind::kRegex, .text = "([a-z]{1,40}[0-9]{1,40}){1,20}"};
  // Without a thread that works, every request runs into its deadline.
  ConstraintCompiler idle(small_vocabulary(),
                          {.deadline = std::chrono::milliseconds(1), .num_threads = 0});
  for (int round = 0; round < 2; ++round) {
    const auto refused = idle.compile(spec);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.error().reason(), "grammar_too_complex");
  }
  // Where the work goes on, it is there when it is asked for again, however hasty the requests.
  ConstraintCompiler hasty(small_vocabulary(), {.deadline = std::chrono::milliseconds(0)});
  for (auto result = hasty.compile(spec); !result; result = hasty.compile(spec)) {
    ASSERT_EQ(result.error().reason(), "grammar_too_complex");
  }
}

TEST(FieldCase, G03_AFailedCompilationHarmsNobodyElse) {
  // What passes every check beforehand fails when it is compiled: it becomes too large.
  const auto of_length = [](int length) {
    return ConstraintSpec{.kind = ConstraintSpec::Kind::kRegex,
                          .text = "[a-z]{" + std::to_string(length) + "}x"};
  };
  ConstraintCompiler compiler(small_vocabulary(), {.max_compiled_bytes = 200'000});
  const auto fails = [&] {
    const auto refused = compiler.compile(of_length(3000));
    return !refused && refused.error().code() == StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(fails()) << "as the first of all";
  for (int length = 1; length <= 100; ++length) {
    ASSERT_TRUE(compiler.compile(of_length(length)).has_value()) << length;
  }
  EXPECT_TRUE(fails()) << "after a hundred good ones";
  EXPECT_TRUE(compiler.compile(of_length(101)).has_value());
}

TEST(FieldCase, G02_NestedAlternativesGetAnAnswerAndHoldUpNobody) {
  ConstraintCompiler compiler(small_vocabulary(), {.deadline = std::chrono::milliseconds(200)});
  for (const int depth : {8, 14, 18}) {
    std::string schema = R"({"type":"integer"})";
    for (int i = 0; i < depth; ++i) {
      schema = R"({"anyOf":[)" + schema + R"(,{"type":"object","properties":{"a":)" + schema +
               R"(},"required":["a"]}]})";
      if (schema.size() > 1'000'000) {
        break;
      }
    }
    const auto result = compiler.compile(
        {.kind = ConstraintSpec::Kind::kJsonSchema, .text = schema, .param = "response_format"});
    EXPECT_TRUE(result || result.error().code() == StatusCode::kInvalidArgument) << depth;
    EXPECT_TRUE(compiler.compile({.kind = ConstraintSpec::Kind::kChoice, .choices = {"a"}}))
        << "beside depth " << depth;
  }
  EXPECT_TRUE(compiler.compile(
      {.kind = ConstraintSpec::Kind::kJsonSchema,
       .text = R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"next":
           {"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["next"]}}})"}));
}

TEST(ConstraintCompiler, RefusesWhatBecomesTooLarge) {
  ConstraintCompiler compiler(small_vocabulary(), {.max_compiled_bytes = 100});
  const auto refused = compiler.compile({.kind = Kind::kJsonObject, .param = "response_format"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason(), "grammar_too_complex");
}

TEST(ConstraintCompiler, ServesSeveralThreads) {
  ConstraintCompiler compiler(small_vocabulary(), {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&compiler, i] {
      const auto result = compiler.compile(
          schema_spec(R"({"type":"integer","minimum":)" + std::to_string(i % 3) + "}"));
      EXPECT_TRUE(result.has_value());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace deepinfer::constraint::testing
