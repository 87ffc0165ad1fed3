#include "constraint/schema_check.h"

#include <string>

#include "tests/unit/constraint/harness.h"

namespace deepinfer::constraint::testing {
namespace {

using ::testing::HasSubstr;

struct Refused {
  const char* schema;
  const char* named;
};

class RefusedSchema : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedSchema, NamesTheKeyword) {
  EXPECT_THAT(refusal(schema_spec(GetParam().schema)), HasSubstr(GetParam().named))
      << GetParam().schema;
}

// What XGrammar passes over in silence or with a warning.
INSTANTIATE_TEST_SUITE_P(
    Schemas, RefusedSchema,
    ::testing::Values(
        Refused{R"({"not":{"type":"string"}})", "`not`"},
        Refused{
            R"({"type":"object","properties":{"a":{"type":"array","items":{},"uniqueItems":true}}})",
            "`uniqueItems` at #/properties/a"},
        Refused{R"({"type":"array","contains":{"type":"integer"}})", "`contains`"},
        Refused{R"({"type":"object","if":{},"then":{}})", "`if`"},
        Refused{R"({"type":"object","dependentRequired":{"a":["b"]}})", "`dependentRequired`"},
        Refused{R"({"minLength":3})", "`minLength`"},
        Refused{R"({"required":["a"]})", "`required`"},
        Refused{R"({"type":"object","properties":{"a":{}},"required":["b"]})", "`b`"},
        Refused{R"({"anyOf":[{"type":"string"}],"minLength":2})", "`minLength`"},
        Refused{R"({"type":"object","anyOf":[{"type":"object"}]})", "`type`"},
        Refused{R"({"$ref":"#/$defs/a","minLength":1,"$defs":{"a":{"type":"string"}}})",
                "`minLength`"},
        Refused{R"({"$ref":"https://example.org/x.json"})", "`$ref`"},
        Refused{R"({"$ref":"#/$defs/a"})", "`$ref`"},
        Refused{R"({"$ref":"#/$defs/a","$defs":{"a":{"not":{}}}})", "`not`"},
        Refused{R"({"enum":["a",1],"type":"string"})", "`enum`"},
        Refused{R"({"const":1,"type":"string"})", "`const`"},
        Refused{R"({"enum":["a"],"pattern":"b"})", "`pattern`"},
        Refused{R"({"allOf":[{"type":"string"},{"minLength":1,"type":"string"}]})", "`allOf`"},
        Refused{R"({"oneOf":[{"type":"integer","minimum":1},{"type":"integer","maximum":3}]})",
                "oneOf"},
        Refused{R"({"type":"number","multipleOf":0.1})", "multipleOf"},
        Refused{R"({"type":"integer","multipleOf":3,"minimum":1})", "multipleOf"},
        Refused{R"({"type":"string","pattern":"a","maxLength":3})", "`maxLength`"},
        Refused{R"({"type":"string","pattern":"a","format":"date"})", "`pattern`"},
        Refused{R"({"type":"string","format":"phone"})", "`format`"},
        Refused{R"({"type":"string","pattern":"(?=a)b"})", "ookahead"},
        Refused{R"({"type":"string","pattern":"\\bword"})", "oundary"},
        Refused{R"({"type":"string","maxLength":10000000})", "`maxLength`"},
        Refused{R"({"type":"tuple"})", "`type`"},
        Refused{R"({"type":"object","patternProperties":{"^x":{"type":"string"}}})",
                "`patternProperties`"},
        Refused{R"({"type":"object","minProperties":2})", "`minProperties`"},
        Refused{R"([1])", "must be an object"}, Refused{"{", "not JSON"},
        Refused{"false", "schema"},
        // G05
        Refused{R"({"type":"string","pattern":"^+[a-z]$"})", "schema"},
        Refused{R"({"type":"string","pattern":"(?<=x)*"})", "schema"}));

TEST(SchemaCheck, RefusesWhatIsTooLarge) {
  const SchemaLimits limits;
  EXPECT_FALSE(parse_schema(std::string(limits.max_bytes + 1, ' '), limits).has_value());
  std::string deep;
  for (int i = 0; i < 100; ++i) {
    deep += R"({"type":"array","items":)";
  }
  EXPECT_THAT(refusal(schema_spec(deep + "{}" + std::string(100, '}'))), HasSubstr("deep"));
  std::string values = R"({"enum":[0)";
  for (int i = 1; i <= limits.max_enum_values; ++i) {
    values += "," + std::to_string(i);
  }
  EXPECT_THAT(refusal(schema_spec(values + "]}")), HasSubstr("`enum`"));
  EXPECT_THAT(refusal(schema_spec(R"({"type":"string","pattern":")" + std::string(10000, '(') +
                                  std::string(10000, ')') + "\"}")),
              HasSubstr("`pattern`"));
  EXPECT_THAT(refusal(schema_spec(R"({"type":"string","pattern":"((a{100}){100}){100}"})")),
              HasSubstr("repetitions"));
  EXPECT_THAT(
      refusal({.kind = ConstraintSpec::Kind::kGrammar,
               .text = "root ::= " + std::string(5000, '(') + "\"a\"" + std::string(5000, ')'),
               .param = "g"}),
      HasSubstr("deep"));
}

TEST(SchemaCheck, AnnotationsAndForeignNamesAreNoReason) {
  const ConstraintSpec spec = schema_spec(
      R"({"$schema":"x","title":"T","description":"d","type":"object","x-order":1,"properties":
          {"a":{"type":"integer","format":"int32","default":1,"examples":[2]}},"required":["a"]})");
  EXPECT_TRUE(matches(spec, R"({"a":5})"));
}

TEST(SchemaCheck, EnforcesWhatItTakes) {
  const ConstraintSpec spec = schema_spec(R"({"type":"object","properties":{
    "name":{"type":"string","minLength":2,"maxLength":4},
    "age":{"type":"integer","minimum":0,"exclusiveMaximum":120},
    "kind":{"enum":["a","b",3],"type":["string","integer"]},
    "tags":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"},"minItems":1,"maxItems":2},
    "node":{"$ref":"#/$defs/node"}},
    "required":["name","age"],"$defs":{"node":{"type":"object","properties":{
      "next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["next"]}}})");
  EXPECT_TRUE(matches(spec, R"({"name":"bob","age":7})"));
  EXPECT_TRUE(matches(spec, R"({"name":"bob","age":7,"kind":3,"tags":["x","yz"]})"));
  EXPECT_TRUE(matches(spec, R"({"name":"bob","age":7,"node":{"next":{"next":null}}})"));
  EXPECT_FALSE(matches(spec, R"({"name":"b","age":7})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bobby","age":7})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bob","age":120})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bob"})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bob","age":7,"kind":"c"})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bob","age":7,"tags":[]})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bob","age":7,"tags":["X"]})"));
  EXPECT_FALSE(matches(spec, R"({"name":"bob","age":7,"more":1})"));
}

TEST(SchemaCheck, StringsOfBoundedLengthHoldNoControlCharacters) {
  const ConstraintSpec spec = schema_spec(R"({"type":"string","maxLength":3})");
  EXPECT_TRUE(matches(spec, "\"ab\""));
  EXPECT_FALSE(matches(spec, "\"a\tb\""));
  EXPECT_FALSE(matches(spec, "\"abcd\""));
}

TEST(SchemaCheck, ObjectsWithoutDeclaredPropertiesStayOpen) {
  const ConstraintSpec spec =
      schema_spec(R"({"type":"object","properties":{"a":{"type":"object"}}})");
  EXPECT_TRUE(matches(spec, R"({"a":{"anything":[1]}})"));
  EXPECT_FALSE(matches(spec, R"({"b":1})"));
  const ConstraintSpec open = schema_spec(
      R"({"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":true})");
  EXPECT_TRUE(matches(open, R"({"a":1,"b":"c"})"));
  EXPECT_FALSE(matches(open, R"({"a":"x"})"));
}

}  // namespace
}  // namespace deepinfer::constraint::testing
