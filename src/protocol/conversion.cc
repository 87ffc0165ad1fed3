#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "protocol/conversion.h"
#include "protocol/conversion_steps.h"
#include "protocol/tool_schema.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {

using recipe::ReasoningEffort;
using recipe::ResponseFormat;
using recipe::ThinkingStage;
using recipe::ToolChoice;
using ChoiceKind = RequestToolChoice::Kind;

Status refuse_member(std::string_view param, std::string message) {
  return invalid_argument(std::move(message)).with_param(std::string(param));
}

Status unsupported_member(std::string param, const std::string& what) {
  return invalid_argument(what + " is not supported by this version of the server")
      .with_param(std::move(param))
      .with_reason("unsupported_parameter");
}

std::string item_of(std::string_view list, size_t index) {
  std::string name(list);
  name += '[';
  name += std::to_string(index);
  name += ']';
  return name;
}

ToolUse::ToolUse(const std::vector<RequestTool>& tools,
                 const std::optional<RequestToolChoice>& given, std::optional<bool> parallel)
    : choice(tools.empty() || !given ? ChoiceKind::kAuto : given->kind),
      in_use(!tools.empty() && choice != ChoiceKind::kNone),
      single(!parallel.value_or(true)) {}

bool ToolUse::forced() const {
  return choice == ChoiceKind::kRequired || choice == ChoiceKind::kNamed;
}

bool wants_thinking(const std::optional<ThinkingType>& thinking,
                    const std::optional<EffortName>& effort, const ConversionOptions& options) {
  if (thinking) {
    return *thinking == ThinkingType::kEnabled;
  }
  return effort ? *effort != EffortName::kNone : options.default_thinking_mode;
}

Status select_model(const ConversionJob& job, const std::string& model) {
  const auto at = job.options.models.find(model);
  if (at != job.options.models.end()) {
    job.out.encoding = at->second;
    return Status::ok();
  }
  if (job.policy.served_models) {
    return not_found("The model `" + model + "` does not exist.")
        .with_param("model")
        .with_reason("model_not_found");
  }
  std::string message = "The supported API model names are ";
  for (const auto& [name, encoding] : job.options.models) {
    message += name + ", ";
  }
  return refuse_member("model", message + "but you passed " + model + ".");
}

Status declare_tools(const ConversionJob& job, const std::vector<RequestTool>& tools,
                     std::string_view schema_member, MissingSchema missing, StrictRewrite rewrite) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    recipe::ToolDeclaration tool{.name = tools[i].name,
                                 .description = tools[i].description,
                                 .parameters = tools[i].parameters,
                                 .strict = tools[i].strict,
                                 .defer_loading = tools[i].defer_loading};
    if (!names.insert(tools[i].name).second) {
      return refuse_member("tools", "Tool names must be unique.");
    }
    const bool empty = job.policy.empty_schema && tool.parameters == Json::object();
    const bool absent = (tool.parameters.is_null() || empty) && missing == MissingSchema::kEmpty;
    // A strict schema is checked by its rewrite.
    if (tool.strict.value_or(false)) {
      if (absent) {
        tool.parameters = {{"type", "object"}, {"properties", Json::object()}};
      }
      if (rewrite == StrictRewrite::kNow) {
        DI_ASSIGN(tool.parameters,
                  strict_schema(tool.parameters, StrictSchemaUse::kToolParameters));
      }
    } else if (absent) {
      tool.parameters = Json::object();
    } else {
      DI_TRY(check_tool_schema(tool, item_of("tools", i).append(schema_member)));
    }
    job.out.tool_schemas[tool.name] =
        tools[i].parameters.is_null() ? Json::object() : tools[i].parameters;
    job.out.conversation.tools.push_back(std::move(tool));
  }
  return Status::ok();
}

Status rewrite_strict_tools(const ConversionJob& job, const ToolUse& use) {
  if (!use.in_use) {
    return Status::ok();
  }
  for (recipe::ToolDeclaration& tool : job.out.conversation.tools) {
    if (tool.strict.value_or(false)) {
      DI_ASSIGN(tool.parameters, strict_schema(tool.parameters, StrictSchemaUse::kToolParameters));
    }
  }
  return Status::ok();
}

Status apply_tool_choice(const ConversionJob& job, const ToolUse& use, const std::string& named) {
  auto& tools = job.out.conversation.tools;
  if (use.choice == ChoiceKind::kNamed) {
    const auto at = std::find_if(tools.begin(), tools.end(),
                                 [&](const auto& tool) { return tool.name == named; });
    if (at == tools.end()) {
      return refuse_member("tool_choice", "Invalid value for 'tool_call': no function named '" +
                                              named + "' was specified in the 'tools' parameter.");
    }
    tools = {std::move(*at)};
  }
  const bool on_thinking = use.forced() && job.out.conversation.thinking_mode;
  if (on_thinking && !job.policy.refuse_unenforced) {
    return refuse_member("tool_choice", "Thinking mode does not support this tool_choice");
  }
  if (!use.in_use) {
    tools.clear();
  }
  // On thinking the prompt cannot open the call: it comes behind the reasoning.
  job.out.conversation.tool_choice = use.forced() && !on_thinking      ? ToolChoice::kRequired
                                     : use.choice == ChoiceKind::kNone ? ToolChoice::kNone
                                                                       : ToolChoice::kAuto;
  return Status::ok();
}

Status set_stop_sequences(const ConversionJob& job, const std::vector<std::string>& sequences,
                          bool is_list, std::string_view member) {
  constexpr size_t kMaxStops = 16;
  // The matcher's tables grow with the length: tens of bytes for each byte and choice.
  constexpr size_t kMaxStopBytes = 1024;
  if (sequences.size() > kMaxStops) {
    return refuse_member(member, "Stop string array too long: " + std::to_string(sequences.size()));
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].empty()) {
      const std::string shown = is_list ? item_of("stop", i) : "stop";
      return refuse_member(is_list ? item_of(member, i) : std::string(member),
                           "Invalid '" + shown +
                               "': empty string. Expected a string with minimum length 1, but got "
                               "an empty string instead.");
    }
    if (job.policy.bounded_stop && sequences[i].size() > kMaxStopBytes) {
      return refuse_member(member, "A stop string may have " + std::to_string(kMaxStopBytes) +
                                       " bytes, got one of " + std::to_string(sequences[i].size()));
    }
  }
  job.out.parsing.stop_sequences = sequences;
  return Status::ok();
}

Status set_temperature(const ConversionJob& job, std::optional<float> given) {
  const float requested = given.value_or(1.0F);
  if (!(requested >= 0.0F && requested <= 2.0F)) {
    return refuse_member("temperature",
                         "Invalid temperature value, the valid range of temperature is [0, 2]");
  }
  const bool forced_to_one = job.out.conversation.thinking_mode && !job.policy.requested_sampling;
  job.out.options.temperature = forced_to_one ? 1.0F : requested;
  return Status::ok();
}

Status set_top_p(const ConversionJob& job, std::optional<float> given, bool tools_in_use) {
  const float requested = given.value_or(1.0F);
  if (!(requested > 0.0F && requested <= 1.0F)) {
    return refuse_member("top_p", "Invalid top_p value, the valid range of top_p is (0, 1.0]");
  }
  float& top_p = job.out.options.top_p;
  const bool thinks = job.out.conversation.thinking_mode;
  const bool v41 = job.out.encoding == recipe::Encoding::kV41;
  if (job.policy.requested_sampling || (!v41 && !thinks)) {
    top_p = requested;
  } else if (v41) {
    top_p = thinks ? std::max(requested, 0.95F) : 1.0F;
  } else {
    top_p = tools_in_use ? 0.95F : 1.0F;
  }
  return Status::ok();
}

Status refuse_unenforced(const ConversionJob& job, const std::vector<RequestTool>& tools,
                         const std::optional<RequestToolChoice>& choice) {
  const bool forces =
      choice && (choice->kind == ChoiceKind::kRequired || choice->kind == ChoiceKind::kNamed);
  return job.policy.refuse_unenforced && forces && tools.empty()
             ? refuse_member("tool_choice",
                             "`tool_choice` asks for a call, but there are no `tools`")
             : Status::ok();
}

Result<Json> check_response_schema(const ConversionJob& job,
                                   const std::optional<RequestFormat>& format) {
  Json schema;
  if (format && format->kind == ResponseFormat::kJsonSchema) {
    if (job.policy.refuse_unenforced && !format->schema.is_object()) {
      return refuse_member("response_format", "Invalid json schema: expected an object");
    }
    if (format->strict) {
      DI_ASSIGN(schema, strict_schema(format->schema, StrictSchemaUse::kResponseFormat));
    } else if (auto problem = json_schema_problem(format->schema)) {
      return refuse_member("response_format", "Invalid json schema: " + *problem);
    } else {
      schema = format->schema;
    }
  }
  const auto& tools = job.out.conversation.tools;
  const auto is_strict = [](const recipe::ToolDeclaration& tool) {
    return tool.strict.value_or(false);
  };
  if (std::none_of(tools.begin(), tools.end(), is_strict)) {
    return schema;
  }
  if (!std::all_of(tools.begin(), tools.end(), is_strict)) {
    return refuse_member("tools",
                         "Cannot use strict tool with non-strict tool in the same request");
  }
  if (format) {
    return refuse_member("response_format", "response_format should not be used with tools");
  }
  return schema;
}

namespace {

/// All tools as compact JSON, for guided decoding.
std::string tools_json(const std::vector<recipe::ToolDeclaration>& tools) {
  Json list = Json::array();
  for (const recipe::ToolDeclaration& tool : tools) {
    Json function = {{"name", tool.name}};
    function["description"] = tool.description ? Json(*tool.description) : Json();
    function["parameters"] = tool.parameters;
    function["strict"] = tool.strict ? Json(*tool.strict) : Json();
    Json entry = {{"type", "function"}};
    entry["function"] = std::move(function);
    if (tool.defer_loading) {
      entry["defer_loading"] = true;
    }
    list.push_back(std::move(entry));
  }
  std::string text;
  recipe::append_json(list, recipe::JsonStyle::kCompact, text);
  return text;
}

std::optional<OutputConstraint> output_constraint(const std::vector<recipe::ToolDeclaration>& tools,
                                                  const ToolUse& use,
                                                  const std::optional<RequestFormat>& format,
                                                  const Json& schema) {
  using Kind = OutputConstraint::Kind;
  if (use.in_use) {
    return OutputConstraint{use.forced() ? Kind::kToolCallRequired : Kind::kToolCall,
                            tools_json(tools)};
  }
  switch (format ? format->kind : ResponseFormat::kText) {
    case ResponseFormat::kText:
      return std::nullopt;
    case ResponseFormat::kJsonObject:
      return OutputConstraint{Kind::kJson, {}};
    case ResponseFormat::kRegex:
      return OutputConstraint{Kind::kRegex, format->regex};
    case ResponseFormat::kJsonSchema: {
      OutputConstraint constraint{Kind::kJson, {}};
      recipe::append_json(schema, recipe::JsonStyle::kCompact, constraint.schema);
      return constraint;
    }
  }
  return std::nullopt;
}

/// The schema goes to the engine as the client wrote it: its strict rewrite loses definitions.
std::optional<ConstraintSpec> format_constraint(const std::optional<RequestFormat>& format,
                                                std::string_view member) {
  ConstraintSpec spec;
  spec.param = member;
  switch (format ? format->kind : ResponseFormat::kText) {
    case ResponseFormat::kText:
      return std::nullopt;
    case ResponseFormat::kJsonObject:
      spec.kind = ConstraintSpec::Kind::kJsonObject;
      break;
    case ResponseFormat::kRegex:
      spec.kind = ConstraintSpec::Kind::kRegex;
      spec.text = format->regex;
      break;
    case ResponseFormat::kJsonSchema:
      spec.kind = ConstraintSpec::Kind::kJsonSchema;
      recipe::append_json(format->schema, recipe::JsonStyle::kCompact, spec.text);
      break;
  }
  return spec;
}

/// Calls are enforced when one is forced or the tools are strict; then all of them are.
std::optional<ConstraintSpec> calls_constraint(const ConvertedRequest& request,
                                               const ToolUse& use) {
  const auto& tools = request.conversation.tools;
  const bool strict = std::any_of(tools.begin(), tools.end(),
                                  [](const auto& tool) { return tool.strict.value_or(false); });
  if (!use.forced() && !strict) {
    return std::nullopt;
  }
  ConstraintSpec spec{.kind = ConstraintSpec::Kind::kToolCalls};
  for (const recipe::ToolDeclaration& tool : tools) {
    const auto schema = request.tool_schemas.find(tool.name);
    ConstrainedTool& target = spec.tools.emplace_back();
    target.name = tool.name;
    target.strict = tool.strict.value_or(false);
    recipe::append_json(schema == request.tool_schemas.end() ? tool.parameters : schema->second,
                        recipe::JsonStyle::kCompact, target.parameters);
  }
  spec.call_required = use.forced();
  spec.single_call = use.single;
  spec.begins_in_block = request.parsing.starts_in_tool_calls;
  spec.param = strict ? "tools" : "tool_choice";
  return spec;
}

std::optional<ReasoningEffort> effort_of(EffortName name) {
  switch (name) {
    case EffortName::kNone:
      return std::nullopt;
    case EffortName::kMinimal:
    case EffortName::kLow:
      return ReasoningEffort::kLow;
    case EffortName::kMedium:
    case EffortName::kHigh:
      return ReasoningEffort::kHigh;
    case EffortName::kXhigh:
      return ReasoningEffort::kXhigh;
    case EffortName::kUltra:
    case EffortName::kMax:
      return ReasoningEffort::kMax;
  }
  return std::nullopt;
}

}  // namespace

void finish_conversion(const ConversionJob& job, const std::optional<EffortName>& effort,
                       const std::optional<RequestFormat>& format, const Json& constraint_schema,
                       const ToolUse& use, std::string_view format_member) {
  recipe::Conversation& conversation = job.out.conversation;
  recipe::ParsingOptions& parsing = job.out.parsing;
  if (conversation.thinking_mode && effort) {
    conversation.reasoning_effort = effort_of(*effort);
  }
  if (format) {
    conversation.response_format = format->kind;
    conversation.response_schema = format->schema;
    conversation.response_regex = format->regex;
  }
  parsing.repeat_open_reasoning = job.options.repeat_open_reasoning;
  parsing.parse_tool_calls = use.in_use;
  parsing.starts_in_tool_calls = conversation.tool_choice == ToolChoice::kRequired;
  parsing.parse_json_output = conversation.response_format == ResponseFormat::kJsonObject;
  parsing.thinking_initial_stage =
      conversation.thinking_mode ? ThinkingStage::kReasoningStart : ThinkingStage::kNone;
  job.out.options.output_constraint =
      output_constraint(conversation.tools, use, format, constraint_schema);
  if (job.policy.refuse_unenforced) {
    job.out.constraint =
        use.in_use ? calls_constraint(job.out, use) : format_constraint(format, format_member);
  }
}

namespace {

/// Ids made by a stream in which no reasoning was sent carry `ET` (recipe spec §8).
bool marks_empty_reasoning(const std::string& id) {
  const bool ascii =
      std::all_of(id.begin(), id.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
  if (!ascii) {
    return false;
  }
  const std::string_view text = id;
  return (text.size() >= 8 && text.substr(6, 2) == "ET") ||
         (text.size() >= 11 && text.substr(8, 3) == "ET_");
}

}  // namespace

std::optional<size_t> missing_reasoning(const std::vector<PastTurn>& turns, bool has_tools) {
  size_t begin = turns.size();
  while (begin > 0 && turns[begin - 1].role != recipe::Role::kUser) {
    --begin;
  }
  for (size_t i = begin; i < turns.size(); ++i) {
    const PastTurn& turn = turns[i];
    const bool called = turn.calls != nullptr && !turn.calls->empty();
    if (turn.role != recipe::Role::kAssistant || turn.has_reasoning || !(called || has_tools)) {
      continue;
    }
    if (!called ||
        std::none_of(turn.calls->begin(), turn.calls->end(),
                     [](const recipe::ToolCall& call) { return marks_empty_reasoning(call.id); })) {
      return i;
    }
  }
  return std::nullopt;
}

bool contains_json_word(std::string_view text) {
  constexpr std::string_view kWord = "json";
  return std::search(text.begin(), text.end(), kWord.begin(), kWord.end(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
         }) != text.end();
}

std::string error_body(const Status& status, const RecipePolicy& policy) {
  constexpr std::string_view kType = "invalid_request_error";
  const bool ours = status.code() == StatusCode::kInternal;
  const std::string_view type = ours ? "internal_error" : kType;
  std::string body = R"({"error":{"message":)";
  recipe::append_json_string(status.message(), body);
  body += R"(,"type":)";
  recipe::append_json_string(type, body);
  body += R"(,"param":)";
  if (policy.error_param && !status.param().empty()) {
    recipe::append_json_string(status.param(), body);
  } else {
    body += "null";
  }
  body += R"(,"code":)";
  recipe::append_json_string(
      policy.error_param && !status.reason().empty() ? status.reason() : type, body);
  body += "}}";
  return body;
}

}  // namespace deepinfer::protocol
