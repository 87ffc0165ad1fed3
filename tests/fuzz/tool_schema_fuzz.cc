// JSON Schemas of tools and response formats; a text that is no JSON is tried as a pattern.

#include "fuzz/fuzz.h"
#include "protocol/tool_schema.h"
#include "recipe/json_text.h"
#include "recipe/utf8.h"

using namespace deepinfer;  // a target is one function
using recipe::Json;

namespace {

void expect_problem_in_words(const std::optional<std::string>& problem) {
  fuzz::expect(!problem || (!problem->empty() && recipe::is_valid_utf8(*problem)),
               "a problem without words", problem.value_or(""));
}

void expect_subset(const Json& schema, protocol::StrictSchemaUse use) {
  const auto strict = protocol::strict_schema(schema, use);
  if (!strict) {
    return fuzz::expect_refusal(strict.error());
  }
  const auto problem = protocol::json_schema_problem(*strict);
  fuzz::expect(!problem, "a strict schema that is no schema", strict->dump());
  const auto again = protocol::strict_schema(*strict, use);
  fuzz::expect(again.has_value(), "a strict schema that is refused", strict->dump());
  fuzz::expect(again->dump() == strict->dump(), "a strict schema that is rewritten again",
               strict->dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto schema =
      recipe::read_json(text, {.max_depth = recipe::kMaxJsonDepth, .refuse_duplicate_keys = false});
  if (!schema) {
    std::string pattern;
    recipe::append_lossy(text, pattern);
    expect_problem_in_words(protocol::regex_problem(pattern));
    return 0;
  }
  const auto problem = protocol::json_schema_problem(*schema);
  expect_problem_in_words(problem);
  const Status checked =
      protocol::check_tool_schema({.name = "f", .parameters = *schema}, "tools[0].parameters");
  if (!checked.is_ok()) {
    fuzz::expect_refusal(checked);
  }
  fuzz::expect(!problem || !checked.is_ok(), "a tool whose schema has a problem", text);
  if (!problem) {
    expect_subset(*schema, protocol::StrictSchemaUse::kToolParameters);
    expect_subset(*schema, protocol::StrictSchemaUse::kResponseFormat);
  }
  return 0;
}
