#include "recipe/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "recipe/json_reader.h"

namespace deepinfer::recipe {
namespace {

/// `text` read and written again, or "refused".
std::string round_trip(std::string_view text, JsonStyle style = JsonStyle::kSpacedV41) {
  const auto value = read_json(text, {.max_depth = kMaxJsonDepth, .refuse_duplicate_keys = false});
  if (!value) return "refused";
  std::string out;
  append_json(*value, style, out);
  return out;
}

TEST(JsonText, KeepsMembersInTheirOrder) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":[true,null,"x"],"é":{}})"),
            R"({"b": 1, "a": [true, null, "x"], "é": {}})");
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":{"c":3},"b":[]})"), R"({"a": {"c": 3}, "b": []})");
}

TEST(JsonText, ReadsNumbersAsTheReferenceDoes) {
  EXPECT_EQ(round_trip("[-0, 0, -0.0, 9223372036854775808, 18446744073709551615]"),
            "[-0.0, 0, -0.0, 9223372036854775808, 18446744073709551615]");
  EXPECT_EQ(round_trip("[18446744073709551616, -9223372036854775809]"),
            "[1.8446744073709552e+19, -9.223372036854776e+18]");
}

TEST(JsonText, WritesFloatsInBothNotations) {
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

TEST(JsonText, EscapesOnlyWhatItMust) {
  EXPECT_EQ(round_trip(R"("\"\\\/\b\f\n\r\t\u0001\u001f\u007fé\u2028")"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7Fé\u2028\"");
}

}  // namespace
}  // namespace deepinfer::recipe
