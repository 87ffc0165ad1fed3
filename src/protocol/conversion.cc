#include "protocol/conversion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "protocol/chat/chat_messages.h"
#include "protocol/tool_schema.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::ReasoningEffort;
using recipe::ResponseFormat;
using recipe::ThinkingStage;
using recipe::ToolChoice;
using ChoiceKind = RequestToolChoice::Kind;

Status refuse(std::string_view param, std::string message) {
  return invalid_argument(std::move(message)).with_param(std::string(param));
}

/// Converts one request; `run` performs the checks in the order of recipe spec §3.
class Converter {
 public:
  Converter(const ChatRequest& request, const ConversionOptions& options,
            const RecipePolicy& policy)
      : request_(request), options_(options), policy_(policy) {}

  Result<ConvertedRequest> run() {
    using Step = Status (Converter::*)();
    constexpr Step kSteps[] = {
        &Converter::model,
        &Converter::tool_names_and_schemas,
        &Converter::unenforced,
        &Converter::messages,
        &Converter::reasoning_passed_back,
        &Converter::json_word,
        &Converter::strict_tools,
        &Converter::tool_choice,
        &Converter::prefix,
        &Converter::stop,
        &Converter::stream_options,
        &Converter::response_schema,
        &Converter::choices,
        &Converter::penalties,
        &Converter::temperature,
        &Converter::top_p,
        &Converter::logprobs,
        &Converter::max_tokens,
        &Converter::seed,
    };
    out_.conversation.thinking_mode = thinking();
    for (const Step step : kSteps) {
      DI_TRY((this->*step)());
    }
    finish();
    return std::move(out_);
  }

 private:
  bool tools_in_use() const { return !request_.tools.empty() && choice() != ChoiceKind::kNone; }
  ChoiceKind choice() const {
    return request_.tools.empty() || !request_.tool_choice ? ChoiceKind::kAuto
                                                           : request_.tool_choice->kind;
  }
  bool forced() const {
    return choice() == ChoiceKind::kRequired || choice() == ChoiceKind::kNamed;
  }
  ResponseFormat format() const {
    return request_.response_format ? request_.response_format->kind : ResponseFormat::kText;
  }

  bool thinking() const {
    if (request_.thinking) {
      return *request_.thinking == ThinkingType::kEnabled;
    }
    if (request_.reasoning_effort) {
      return *request_.reasoning_effort != EffortName::kNone;
    }
    return options_.default_thinking_mode;
  }

  Status model();
  Status tool_names_and_schemas();
  Status messages();
  Status reasoning_passed_back();
  Status json_word();
  Status strict_tools();
  Status tool_choice();
  Status prefix();
  Status stop();
  Status stream_options();
  Status response_schema();
  Status choices();
  Status penalties();
  Status temperature();
  Status top_p();
  Status logprobs();
  Status max_tokens();
  Status seed();
  Status unenforced();
  void finish();
  std::optional<OutputConstraint> output_constraint() const;
  ThinkingStage thinking_stage() const;

  const ChatRequest& request_;
  const ConversionOptions& options_;
  const RecipePolicy& policy_;
  ConvertedRequest out_;
  /// The schema of `response_format` after the strict rewrite.
  Json constraint_schema_;
};

Status Converter::model() {
  const auto at = options_.models.find(request_.model);
  if (at != options_.models.end()) {
    out_.encoding = at->second;
    return Status::ok();
  }
  if (policy_.served_models) {
    return not_found("The model `" + request_.model + "` does not exist.")
        .with_param("model")
        .with_reason("model_not_found");
  }
  std::string message = "The supported API model names are ";
  for (const auto& [name, encoding] : options_.models) {
    message += name + ", ";
  }
  return refuse("model", message + "but you passed " + request_.model + ".");
}

Status Converter::tool_names_and_schemas() {
  const auto& tools = request_.tools;
  for (size_t i = 0; i < tools.size(); ++i) {
    DI_TRY(check_tool_name(tools[i].name, i));
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    recipe::ToolDeclaration tool{.name = tools[i].name,
                                 .description = tools[i].description,
                                 .parameters = tools[i].parameters,
                                 .strict = tools[i].strict};
    if (!names.insert(tools[i].name).second) {
      return refuse("tools", "Tool names must be unique.");
    }
    // A strict schema is checked by its rewrite.
    if (tool.strict.value_or(false)) {
      if (tool.parameters.is_null()) {
        tool.parameters = {{"type", "object"}, {"properties", Json::object()}};
      }
    } else if (tool.parameters.is_null()) {
      tool.parameters = Json::object();
    } else {
      DI_TRY(check_tool_schema(tool, i));
    }
    out_.conversation.tools.push_back(std::move(tool));
  }
  return Status::ok();
}

Status Converter::messages() {
  const MessageContext context{
      .encoding = out_.encoding, .thinking = out_.conversation.thinking_mode, .policy = policy_};
  DI_ASSIGN(out_.conversation.messages, convert_messages(request_.messages, context));
  return Status::ok();
}

Status Converter::reasoning_passed_back() {
  if (!options_.reject_missing_reasoning || !out_.conversation.thinking_mode) {
    return Status::ok();
  }
  return check_reasoning_passed_back(request_.messages, !request_.tools.empty());
}

Status Converter::json_word() {
  if (format() != ResponseFormat::kJsonObject || mentions_json(request_.messages)) {
    return Status::ok();
  }
  return refuse("messages",
                "Prompt must contain the word 'json' in some form to use 'response_format' of type "
                "'json_object'.");
}

Status Converter::strict_tools() {
  if (!tools_in_use()) {
    return Status::ok();
  }
  for (recipe::ToolDeclaration& tool : out_.conversation.tools) {
    if (tool.strict.value_or(false)) {
      DI_ASSIGN(tool.parameters, strict_schema(tool.parameters, StrictSchemaUse::kToolParameters));
    }
  }
  return Status::ok();
}

Status Converter::tool_choice() {
  auto& tools = out_.conversation.tools;
  if (choice() == ChoiceKind::kNamed) {
    const std::string& name = request_.tool_choice->name;
    const auto named = std::find_if(tools.begin(), tools.end(),
                                    [&](const auto& tool) { return tool.name == name; });
    if (named == tools.end()) {
      return refuse("tool_choice", "Invalid value for 'tool_call': no function named '" + name +
                                       "' was specified in the 'tools' parameter.");
    }
    tools = {std::move(*named)};
  }
  if (forced() && out_.conversation.thinking_mode && !policy_.refuse_unenforced) {
    return refuse("tool_choice", "Thinking mode does not support this tool_choice");
  }
  if (!tools_in_use()) {
    tools.clear();
  }
  out_.conversation.tool_choice = forced()                        ? ToolChoice::kRequired
                                  : choice() == ChoiceKind::kNone ? ToolChoice::kNone
                                                                  : ToolChoice::kAuto;
  return Status::ok();
}

Status Converter::prefix() {
  if (request_.messages.empty() || !request_.messages.back().prefix) {
    return Status::ok();
  }
  const bool called = std::any_of(request_.messages.begin(), request_.messages.end(),
                                  [](const RequestMessage& m) { return m.tool_calls.has_value(); });
  if (!request_.tools.empty() || called) {
    return refuse("messages", "Function call should not be used with prefix");
  }
  if (format() == ResponseFormat::kJsonObject) {
    return refuse("response_format", "response_format json_object should not be used with prefix");
  }
  return Status::ok();
}

Status Converter::stop() {
  if (!request_.stop) {
    return Status::ok();
  }
  constexpr size_t kMaxStops = 16;
  // The matcher's tables grow with the length: tens of bytes for each byte and choice.
  constexpr size_t kMaxStopBytes = 1024;
  const auto& sequences = request_.stop->sequences;
  if (sequences.size() > kMaxStops) {
    return refuse("stop", "Stop string array too long: " + std::to_string(sequences.size()));
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].empty()) {
      const std::string name =
          request_.stop->is_list ? "stop[" + std::to_string(i) + "]" : std::string("stop");
      return refuse(name, "Invalid '" + name +
                              "': empty string. Expected a string with minimum length 1, but got "
                              "an empty string instead.");
    }
    if (policy_.bounded_stop && sequences[i].size() > kMaxStopBytes) {
      return refuse("stop", "A stop string may have " + std::to_string(kMaxStopBytes) +
                                " bytes, got one of " + std::to_string(sequences[i].size()));
    }
  }
  out_.parsing.stop_sequences = sequences;
  return Status::ok();
}

Status Converter::stream_options() {
  out_.stream = request_.stream;
  if (!request_.stream_options) {
    return Status::ok();
  }
  if (!request_.stream) {
    return refuse("stream_options", "stream_options should be set along with stream = true");
  }
  out_.include_usage = request_.stream_options->include_usage.value_or(false);
  return Status::ok();
}

Status Converter::response_schema() {
  if (format() == ResponseFormat::kJsonSchema) {
    const RequestFormat& given = *request_.response_format;
    if (given.strict) {
      DI_ASSIGN(constraint_schema_, strict_schema(given.schema, StrictSchemaUse::kResponseFormat));
    } else if (auto problem = json_schema_problem(given.schema)) {
      return refuse("response_format", "Invalid json schema: " + *problem);
    } else {
      constraint_schema_ = given.schema;
    }
  }
  const auto& tools = out_.conversation.tools;
  const auto is_strict = [](const recipe::ToolDeclaration& tool) {
    return tool.strict.value_or(false);
  };
  if (std::none_of(tools.begin(), tools.end(), is_strict)) {
    return Status::ok();
  }
  if (!std::all_of(tools.begin(), tools.end(), is_strict)) {
    return refuse("tools", "Cannot use strict tool with non-strict tool in the same request");
  }
  if (request_.response_format) {
    return refuse("response_format", "response_format should not be used with tools");
  }
  return Status::ok();
}

Status Converter::choices() {
  if (!policy_.several_choices) {
    return request_.n == 1 ? Status::ok()
                           : refuse("n", "Invalid n value (currently only n = 1 is supported)");
  }
  return request_.n >= 1 && request_.n <= kMaxChoices
             ? Status::ok()
             : refuse("n", "Invalid n value, the valid range of n is [1, " +
                               std::to_string(kMaxChoices) + "]");
}

Status Converter::penalties() {
  const std::pair<std::string_view, std::optional<float>> kPenalties[] = {
      {"presence_penalty", request_.presence_penalty},
      {"frequency_penalty", request_.frequency_penalty},
  };
  for (const auto& [name, value] : kPenalties) {
    if (value && !(*value >= -2.0F && *value <= 2.0F)) {
      return refuse(name, "Invalid " + std::string(name) + " value, the valid range of " +
                              std::string(name) + " is [-2, 2]");
    }
  }
  return Status::ok();
}

/// What v4.1 and v4 do with the request's values is in the table of recipe spec §3.
Status Converter::temperature() {
  const float requested = request_.temperature.value_or(1.0F);
  if (!(requested >= 0.0F && requested <= 2.0F)) {
    return refuse("temperature",
                  "Invalid temperature value, the valid range of temperature is [0, 2]");
  }
  const bool forced_to_one = out_.conversation.thinking_mode && !policy_.requested_sampling;
  out_.options.temperature = forced_to_one ? 1.0F : requested;
  return Status::ok();
}

Status Converter::top_p() {
  const float requested = request_.top_p.value_or(1.0F);
  if (!(requested > 0.0F && requested <= 1.0F)) {
    return refuse("top_p", "Invalid top_p value, the valid range of top_p is (0, 1.0]");
  }
  float& top_p = out_.options.top_p;
  const bool thinks = out_.conversation.thinking_mode;
  const bool v41 = out_.encoding == recipe::Encoding::kV41;
  if (policy_.requested_sampling || (!v41 && !thinks)) {
    top_p = requested;
  } else if (v41) {
    top_p = thinks ? std::max(requested, 0.95F) : 1.0F;
  } else {
    top_p = tools_in_use() ? 0.95F : 1.0F;
  }
  return Status::ok();
}

Status Converter::logprobs() {
  out_.options.logprobs = request_.logprobs;
  out_.options.top_logprobs = request_.top_logprobs;
  if (!request_.top_logprobs) {
    return Status::ok();
  }
  if (!request_.logprobs) {
    return refuse("top_logprobs",
                  "Invalid top_logprobs and logprobs value, logprobs must be set to true if "
                  "top_logprobs is used.");
  }
  if (*request_.top_logprobs > 20) {
    return refuse("top_logprobs",
                  "Invalid top_logprobs value, the valid range of top_logprobs is [0, 20].");
  }
  return Status::ok();
}

Status Converter::max_tokens() {
  const bool newer = policy_.max_completion_tokens && request_.max_completion_tokens;
  const std::string name = newer ? "max_completion_tokens" : "max_tokens";
  const auto limit = newer ? request_.max_completion_tokens : request_.max_tokens;
  const uint32_t bound = out_.conversation.thinking_mode ? options_.thinking_max_tokens
                                                         : options_.non_thinking_max_tokens;
  if (limit && (*limit < 1 || *limit > bound)) {
    return refuse(name, "Invalid " + name + " value, the valid range of " + name + " is [1, " +
                            std::to_string(bound) + "]");
  }
  out_.options.max_tokens = limit;
  return Status::ok();
}

Status Converter::seed() {
  if (request_.seed && *request_.seed > static_cast<uint64_t>(INT64_MAX)) {
    return refuse("seed", "Invalid seed value, the valid range of seed is [0, 2^63)");
  }
  out_.options.seed = request_.seed;
  return Status::ok();
}

/// Output that would have to be forced is refused while nothing forces it.
Status Converter::unenforced() {
  if (!policy_.refuse_unenforced) {
    return Status::ok();
  }
  const auto unsupported = [](std::string param, const std::string& what) {
    return invalid_argument(what + " is not supported by this version of the server")
        .with_param(std::move(param))
        .with_reason("unsupported_parameter");
  };
  if (format() != ResponseFormat::kText) {
    return unsupported("response_format", "A `response_format` other than `text`");
  }
  if (request_.tools.empty() && request_.tool_choice &&
      (request_.tool_choice->kind == ChoiceKind::kRequired ||
       request_.tool_choice->kind == ChoiceKind::kNamed)) {
    return refuse("tool_choice", "`tool_choice` asks for a call, but there are no `tools`");
  }
  if (forced()) {
    return unsupported("tool_choice", "A `tool_choice` that forces a call");
  }
  if (tools_in_use()) {
    for (size_t i = 0; i < request_.tools.size(); ++i) {
      if (request_.tools[i].strict.value_or(false)) {
        return unsupported("tools[" + std::to_string(i) + "].function.strict",
                           "`strict: true` on a tool");
      }
    }
  }
  return Status::ok();
}

ThinkingStage Converter::thinking_stage() const {
  if (!out_.conversation.thinking_mode) {
    return ThinkingStage::kNone;
  }
  const RequestMessage& last = request_.messages.back();
  if (!last.prefix) {
    return ThinkingStage::kReasoningStart;
  }
  if (!out_.conversation.messages.back().content.empty()) {
    return ThinkingStage::kContentContinuation;
  }
  return last.reasoning_content.value_or("").empty() ? ThinkingStage::kReasoningStart
                                                     : ThinkingStage::kReasoningContinuation;
}

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

std::optional<OutputConstraint> Converter::output_constraint() const {
  using Kind = OutputConstraint::Kind;
  if (tools_in_use()) {
    return OutputConstraint{forced() ? Kind::kToolCallRequired : Kind::kToolCall,
                            tools_json(out_.conversation.tools)};
  }
  switch (format()) {
    case ResponseFormat::kText:
      return std::nullopt;
    case ResponseFormat::kJsonObject:
      return OutputConstraint{Kind::kJson, {}};
    case ResponseFormat::kRegex:
      return OutputConstraint{Kind::kRegex, request_.response_format->regex};
    case ResponseFormat::kJsonSchema: {
      OutputConstraint constraint{Kind::kJson, {}};
      recipe::append_json(constraint_schema_, recipe::JsonStyle::kCompact, constraint.schema);
      return constraint;
    }
  }
  return std::nullopt;
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

void Converter::finish() {
  recipe::Conversation& conversation = out_.conversation;
  if (conversation.thinking_mode && request_.reasoning_effort) {
    conversation.reasoning_effort = effort_of(*request_.reasoning_effort);
  }
  conversation.response_format = format();
  if (request_.response_format) {
    conversation.response_schema = request_.response_format->schema;
    conversation.response_regex = request_.response_format->regex;
  }
  out_.parsing.parse_tool_calls = tools_in_use();
  out_.parsing.starts_in_tool_calls = forced();
  out_.parsing.parse_json_output = format() == ResponseFormat::kJsonObject;
  out_.parsing.thinking_initial_stage = thinking_stage();
  out_.options.output_constraint = output_constraint();
}

}  // namespace

Result<ConvertedRequest> convert_chat_request(const ChatRequest& request,
                                              const ConversionOptions& options,
                                              const RecipePolicy& policy) {
  return Converter(request, options, policy).run();
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
