#include "protocol/tool_schema.h"

#include <gtest/gtest.h>

namespace deepinfer::protocol {
namespace {

Json object_with(const std::string& member) {
  return Json::parse(R"({"type":"object","properties":{"a":)" + member + "}}");
}

TEST(JsonSchemaCheck, AcceptsWhatTheMetaSchemaAccepts) {
  for (const char* schema :
       {"true", "false", "{}", R"({"type":["string","null"]})", R"({"enum":[]})",
        R"({"$ref":"#/$defs/a","$defs":{"a":true}})", R"({"unknown":{"type":5}})",
        R"({"minLength":2.0,"multipleOf":0.5,"required":[]})",
        R"({"patternProperties":{"^a":{}},"dependentRequired":{"a":["b"]}})"}) {
    EXPECT_EQ(json_schema_problem(Json::parse(schema)), std::nullopt) << schema;
  }
}

TEST(JsonSchemaCheck, NamesWhatItRefuses) {
  for (const char* schema :
       {"5", "null", "[]", R"("x")", R"({"type":"foo"})", R"({"type":[]})",
        R"({"type":["string","string"]})", R"({"properties":{"a":5}})", R"({"required":["a","a"]})",
        R"({"required":"a"})", R"({"minLength":-1})", R"({"minLength":1.5})", R"({"multipleOf":0})",
        R"({"anyOf":[]})", R"({"items":[{}]})", R"({"pattern":"("})",
        R"({"patternProperties":{"(":{}}})", R"({"not":{"allOf":[{"title":5}]}})"}) {
    EXPECT_TRUE(json_schema_problem(Json::parse(schema)).has_value()) << schema;
  }
}

TEST(FieldCase, G05_BadPatternsAreRefusedAndLargeOnesDoNoHarm) {
  for (const std::string& pattern :
       {std::string("^+[a-z]$"), std::string("(?<=x)*"), std::string("("), std::string(")"),
        std::string("[a"), std::string("a**"), std::string("\\"), std::string("a{3,2}"),
        std::string(10000, '(') + std::string(10000, ')'), std::string(1 << 20, 'a')}) {
    EXPECT_TRUE(regex_problem(pattern).has_value()) << pattern.substr(0, 40);
  }
  for (const std::string pattern :
       {"", "^a$", "[a-z]+?", "(a|b){2,3}", "\\d{4}-\\d\\d", "a{,3}", "{", "(?:x)*", "(?<n>x)",
        "\\u0041\\x41", "[]]", "[^]", "\\p{L}+", "x(?=y)"}) {
    EXPECT_EQ(regex_problem(pattern), std::nullopt) << pattern;
  }
}

TEST(StrictSchema, WritesMembersInTheFixedOrder) {
  const auto schema = strict_schema(
      object_with(R"({"enum":["x"],"description":"d","type":"string","minLength":1})"),
      StrictSchemaUse::kToolParameters);
  ASSERT_TRUE(schema.has_value());
  EXPECT_EQ(
      schema->dump(),
      R"({"type":"object","properties":{"a":{"type":"string","description":"d","enum":["x"]}},)"
      R"("additionalProperties":false,"required":["a"]})");
}

TEST(StrictSchema, SaysWhatIsWrong) {
  const auto message = [](const Json& schema) {
    return strict_schema(schema, StrictSchemaUse::kResponseFormat).status().message();
  };
  EXPECT_EQ(message(Json::parse(R"({"type":"object"})")),
            "An object with no properties is not allowed.");
  EXPECT_EQ(message(Json::parse(R"({"type":"array","items":{"type":"null"}})")),
            "The top level of the json schema must be an object.");
  EXPECT_EQ(message(object_with(R"({"oneOf":[]})")),
            "Invalid json schema: one of `type`, `anyOf`, `$ref` field is required");
}

TEST(ToolNames, CountCharactersNotBytes) {
  EXPECT_TRUE(check_tool_name(std::string(128, 'a'), 0).is_ok());
  EXPECT_NE(check_tool_name(std::string(129, 'a'), 3).message().find("'tools[3].function.name'"),
            std::string::npos);
  EXPECT_NE(check_tool_name("é", 0).message().find("does not match pattern"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::protocol
