#include "recipe/json_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace deepinfer::recipe {
namespace {

constexpr JsonLimits kServer{.max_depth = 64, .refuse_duplicate_keys = true};
constexpr JsonLimits kReference{.max_depth = 127, .refuse_duplicate_keys = false};

std::string nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonReader, ReadsValuesInTheirOrder) {
  const auto value = read_json(R"( {"b": [1, -2, 3.5, "\u00e9\n"], "a": null} )", kServer);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->dump(), "{\"b\":[1,-2,3.5,\"é\\n\"],\"a\":null}");
}

TEST(JsonReader, RefusesWhatStrictJsonRefuses) {
  for (const std::string body : {"",
                                 " ",
                                 "{",
                                 "{}x",
                                 "{'a':1}",
                                 "[1,]",
                                 "{\"a\":1,}",
                                 "NaN",
                                 "[Infinity]",
                                 "01",
                                 "+1",
                                 ".5",
                                 "1.",
                                 "1e400",
                                 "\"\n\"",
                                 "\"\\ud800\"",
                                 "\"\\udc00x\"",
                                 "\"\\q\"",
                                 "\"\xFF\"",
                                 "\"\xC0\xAF\"",
                                 "\"\xED\xA0\x80\"",
                                 "\xEF\xBB\xBF{}",
                                 "// c\n{}",
                                 "tru",
                                 "\"a"}) {
    EXPECT_FALSE(read_json(body, kServer).has_value()) << body;
  }
  EXPECT_FALSE(read_json(std::string("{}\0", 3), kServer).has_value());
  EXPECT_FALSE(read_json(std::string("{}\0x", 4), kReference).has_value());
}

TEST(JsonReader, LimitsTheNumberOfValues) {
  constexpr JsonLimits kFew{.max_values = 5};
  EXPECT_TRUE(read_json("[1,2,3,4]", kFew).has_value());
  EXPECT_TRUE(read_json("[\",,,,,,[[[[\",2,3,4]", kFew).has_value());
  for (const std::string body : {"[1,2,3,4,5,6]", "[[],[],[]]", "{\"a\":{\"b\":{\"c\":[1,2]}}}"}) {
    const auto value = read_json(body, kFew);
    ASSERT_FALSE(value.has_value()) << body;
    EXPECT_EQ(value.error().message(), "invalid JSON: more than 5 values");
  }
}

TEST(JsonReader, LimitsNesting) {
  EXPECT_TRUE(read_json(nested(64), kServer).has_value());
  EXPECT_FALSE(read_json(nested(65), kServer).has_value());
  EXPECT_TRUE(read_json(nested(127), kReference).has_value());
  EXPECT_FALSE(read_json(nested(128), kReference).has_value());
  EXPECT_TRUE(read_json("\"" + nested(500) + "\\\"[[\"", kServer).has_value());
}

TEST(JsonReader, NamesRepeatedMembersOrKeepsTheLastInTheFirstPlace) {
  const std::string body = R"({"a":1,"b":{"c":1,"c":2},"a":3})";
  const auto refused = read_json(body, kServer);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find("\"c\""), std::string::npos);
  EXPECT_EQ(read_json(body, kReference)->dump(), R"({"a":3,"b":{"c":2}})");
}

TEST(JsonReader, FindsRepetitionsInLargeObjects) {
  std::string body = "{";
  for (int i = 0; i < 200000; ++i) {
    body += "\"k" + std::to_string(i) + "\":0,";
  }
  EXPECT_TRUE(read_json(body + "\"z\":0}", kServer).has_value());
  EXPECT_FALSE(read_json(body + "\"k150000\":0}", kServer).has_value());
  EXPECT_EQ((*read_json(body + "\"k5\":7}", kReference))["k5"], 7);
}

TEST(JsonReader, ReadsMinusZeroAndLargeIntegersAsFloats) {
  const auto value = read_json("[-0, 0, 18446744073709551615, 18446744073709551616]", kServer);
  ASSERT_TRUE(value.has_value());
  EXPECT_TRUE((*value)[0].is_number_float());
  EXPECT_TRUE((*value)[1].is_number_unsigned());
  EXPECT_TRUE((*value)[2].is_number_unsigned());
  EXPECT_TRUE((*value)[3].is_number_float());
}

}  // namespace
}  // namespace deepinfer::recipe
