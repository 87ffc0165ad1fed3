#include "recipe/strict_json.h"

#include <gtest/gtest.h>

#include <string>

#include "recipe/json_text.h"

namespace deepinfer::recipe {
namespace {

/// `text` read and written again, or "refused".
std::string round_trip(std::string_view text, JsonStyle style = JsonStyle::kSpacedV41) {
  const auto value = parse_strict_json(text);
  if (!value) return "refused";
  std::string out;
  append_json(*value, style, out);
  return out;
}

TEST(StrictJson, KeepsMembersInTheirOrder) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":[true,null,"x"],"é":{}})"),
            R"({"b": 1, "a": [true, null, "x"], "é": {}})");
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":{"c":3},"b":[]})"), R"({"a": {"c": 3}, "b": []})");
}

TEST(StrictJson, RefusesWhatIsNotExactlyOneValue) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "{} {}",
                                      "{}x",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "// c\n1",
                                      "NaN",
                                      "-",
                                      "01",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e999",
                                      "-1e999",
                                      "'a'",
                                      "\"\t\"",
                                      "\"\xFF\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\\ud800\"",
                                      "\xEF\xBB\xBF{}",
                                      "{\"a\"}",
                                      "nul",
                                      "\"a"}) {
    EXPECT_EQ(round_trip(text), "refused") << text;
  }
  EXPECT_EQ(round_trip(std::string_view("{}\0", 3)), "refused");
  EXPECT_EQ(round_trip(" {} \n"), "{}");
  EXPECT_EQ(round_trip(R"("\ud83e\uddec\u0000/")"), "\"🧬\\u0000/\"");
}

TEST(StrictJson, LimitsNesting) {
  const auto nested = [](size_t depth) {
    return round_trip(std::string(depth, '[') + std::string(depth, ']'));
  };
  EXPECT_NE(nested(kMaxJsonDepth), "refused");
  EXPECT_EQ(nested(kMaxJsonDepth + 1), "refused");
  EXPECT_EQ(nested(1000000), "refused");
  EXPECT_EQ(round_trip(std::string(1000000, '{')), "refused");
}

TEST(StrictJson, ReadsObjectsOfManyMembersInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text.append("\"").append(std::to_string(i)).append("\": 0, ");
  text += "\"77\": 1}";
  const auto value = parse_strict_json(text);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->size(), 100000U);
}

TEST(StrictJson, ReadsNumbersAsTheReferenceDoes) {
  EXPECT_EQ(round_trip("[-0, 0, -0.0, 9223372036854775808, 18446744073709551615]"),
            "[-0.0, 0, -0.0, 9223372036854775808, 18446744073709551615]");
  EXPECT_EQ(round_trip("[18446744073709551616, -9223372036854775809]"),
            "[1.8446744073709552e+19, -9.223372036854776e+18]");
}

TEST(PythonJson, WritesFloatsInBothNotations) {
  const std::string numbers =
      "[1.0, 1e-4, 1e-5, 1.5e-5, 1e-7, 1e15, 1e16, 1.5e22, 5e-324, 0.1, 1e100]";
  EXPECT_EQ(round_trip(numbers, JsonStyle::kSpacedV41),
            "[1.0, 0.0001, 1e-05, 1.5e-05, 1e-07, 1000000000000000.0, 1e+16, 1.5e+22, 5e-324, 0.1, "
            "1e+100]");
  EXPECT_EQ(
      round_trip(numbers, JsonStyle::kSpacedV4),
      "[1.0, 0.0001, 0.00001, 0.000015, 1e-7, 1000000000000000.0, 1e+16, 1.5e+22, 5e-324, 0.1, "
      "1e+100]");
}

TEST(PythonJson, EscapesOnlyWhatItMust) {
  EXPECT_EQ(round_trip(R"("\"\\\/\b\f\n\r\t\u0001\u001f\u007fé\u2028")"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7Fé\u2028\"");
}

}  // namespace
}  // namespace deepinfer::recipe
