#include "recipe/prompt_texts.h"

namespace deepinfer::recipe {
namespace {

constexpr std::string_view kV4EffortHigh =
    R"text(Reasoning Effort: Absolute maximum with no shortcuts permitted.
You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, rigorously stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.
Explicitly write out your entire deliberation process, documenting every intermediate step, considered alternative, and rejected hypothesis to ensure absolutely no assumption is left unchecked.

)text";

constexpr std::string_view kV4EffortMax =
    R"text(Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.
You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively decompose the problem into its most fundamental components, trace every causal chain to its root, and resolve the underlying cause rather than any surface symptom.
Do not stop reasoning until you have independently verified the solution from multiple angles and are certain that no assumption remains unchecked and no error remains undiscovered.

)text";

constexpr std::string_view kV41EffortLow =
    R"text(Reasoning Effort: 50 (range 1-100, the higher the value, the more thorough the reasoning)

)text";

constexpr std::string_view kV41EffortHigh =
    R"text(Reasoning Effort: 75 (range 1-100, the higher the value, the more thorough the reasoning)

)text";

constexpr std::string_view kV41EffortMax =
    R"text(Reasoning Effort: 100 (range 1-100, the higher the value, the more thorough the reasoning)

)text";

constexpr std::string_view kV4ToolsBeforeSchemas =
    R"text(

## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "<｜DSML｜tool_calls>" block like the following:

<｜DSML｜tool_calls>
<｜DSML｜invoke name="$TOOL_NAME">
<｜DSML｜parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜parameter>
...
</｜DSML｜invoke>
<｜DSML｜invoke name="$TOOL_NAME2">
...
</｜DSML｜invoke>
</｜DSML｜tool_calls>

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

)text";

constexpr std::string_view kV41ToolsBeforeSchemas =
    R"text(

## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "<｜DSML｜ calls>" block like the following:

<｜DSML｜ calls>
<｜DSML｜ invoke name="$TOOL_NAME">
<｜DSML｜ parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜ parameter>
...
</｜DSML｜ invoke>
<｜DSML｜ invoke name="$TOOL_NAME2">
...
</｜DSML｜ invoke>
</｜DSML｜ calls>

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

)text";

constexpr std::string_view kToolsAfterSchemas =
    R"text(

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
)text";

constexpr std::string_view kUpdatedToolsBeforeSchemas =
    R"text(

### Updated Tool Schemas

)text";

constexpr std::string_view kV4JsonObject =
    R"text(

You are a helpful assistant designed to output JSON.
## Response Format:

Reply with JSON object ONLY.)text";

constexpr std::string_view kV41JsonObject =
    R"text(

## Response Format:

You MUST strictly adhere to the following schema to reply:
{"type": "json_object"})text";

constexpr std::string_view kJsonSchemaBefore =
    R"text(

## Response Format:

You MUST strictly adhere to the following schema to reply:
)text";

constexpr std::string_view kV4RequiredToolChoiceSuffix =
    R"text(

<｜DSML｜tool_calls>
)text";

constexpr std::string_view kV41RequiredToolChoiceSuffix =
    R"text(

<｜DSML｜ calls>
)text";

constexpr PromptTexts kV4Texts = {
    .effort_low = "",
    .effort_high = kV4EffortHigh,
    .effort_xhigh = kV4EffortHigh,
    .effort_max = kV4EffortMax,
    .effort_default = kV4EffortHigh,
    .tools_before_schemas = kV4ToolsBeforeSchemas,
    .tools_after_schemas = kToolsAfterSchemas,
    .updated_tools_before_schemas = "",
    .json_object = kV4JsonObject,
    .json_schema_before = kJsonSchemaBefore,
    .required_tool_choice_suffix = kV4RequiredToolChoiceSuffix,
    .calls_tag = "tool_calls",
    .tag_space = "",
    .empty_parameter_line = false,
};

constexpr PromptTexts kV41Texts = {
    .effort_low = kV41EffortLow,
    .effort_high = kV41EffortHigh,
    .effort_xhigh = kV41EffortHigh,
    .effort_max = kV41EffortMax,
    .effort_default = kV41EffortHigh,
    .tools_before_schemas = kV41ToolsBeforeSchemas,
    .tools_after_schemas = kToolsAfterSchemas,
    .updated_tools_before_schemas = kUpdatedToolsBeforeSchemas,
    .json_object = kV41JsonObject,
    .json_schema_before = kJsonSchemaBefore,
    .required_tool_choice_suffix = kV41RequiredToolChoiceSuffix,
    .calls_tag = " calls",
    .tag_space = " ",
    .empty_parameter_line = true,
};

}  // namespace

const PromptTexts& prompt_texts(Encoding encoding) {
  return encoding == Encoding::kV4 ? kV4Texts : kV41Texts;
}

}  // namespace deepinfer::recipe
