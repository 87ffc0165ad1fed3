// Conversion of a chat request: the checks in the order of recipe spec §3.

#include <algorithm>
#include <utility>

#include "protocol/chat/chat_messages.h"
#include "protocol/conversion.h"
#include "protocol/conversion_steps.h"
#include "protocol/tool_schema.h"

namespace deepinfer::protocol {
namespace {

using recipe::ResponseFormat;
using recipe::ThinkingStage;

/// Converts one request; `run` performs the checks in their order.
class Converter {
 public:
  Converter(const ChatRequest& request, const ConversionOptions& options,
            const RecipePolicy& policy)
      : request_(request),
        options_(options),
        policy_(policy),
        job_{options, policy, out_},
        use_(request.tools, request.tool_choice, request.parallel_tool_calls) {}

  Result<ConvertedRequest> run() {
    using Step = Status (Converter::*)();
    constexpr Step kSteps[] = {
        &Converter::model,
        &Converter::tool_names,
        &Converter::messages,
        &Converter::reasoning_passed_back,
        &Converter::json_word,
        &Converter::tool_schemas,
        &Converter::unenforced,
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
    out_.conversation.thinking_mode = wants_thinking(thinking_type(), effort(), options_);
    for (const Step step : kSteps) {
      DI_TRY((this->*step)());
    }
    finish_conversion(job_, effort(), request_.response_format, constraint_schema_, use_);
    out_.parsing.thinking_initial_stage = thinking_stage();
    out_.thinking_budget = thinking_budget();
    out_.parsing.single_call =
        policy_.parallel_tool_calls && !request_.parallel_tool_calls.value_or(true);
    DI_TRY(guided());
    return std::move(out_);
  }

 private:
  /// Members of the request win over arguments of a template.
  std::optional<ThinkingType> thinking_type() const {
    if (request_.thinking) {
      return request_.thinking->type;
    }
    const TemplateArguments& arguments = request_.template_arguments;
    const auto on = arguments.thinking ? arguments.thinking : arguments.enable_thinking;
    if (!on || (*on && request_.reasoning_effort)) {
      return std::nullopt;
    }
    return *on ? ThinkingType::kEnabled : ThinkingType::kDisabled;
  }
  std::optional<EffortName> effort() const {
    return request_.reasoning_effort ? request_.reasoning_effort
                                     : request_.template_arguments.reasoning_effort;
  }
  /// The member of its own wins.
  std::optional<uint64_t> thinking_budget() const {
    if (!policy_.thinking_budget || request_.thinking_token_budget || !request_.thinking) {
      return request_.thinking_token_budget;
    }
    return request_.thinking->budget_tokens;
  }
  ResponseFormat format() const {
    return request_.response_format ? request_.response_format->kind : ResponseFormat::kText;
  }

  Status model() { return select_model(job_, request_.model); }
  Status tool_names();
  /// Tools that are not in use are not looked at.
  Status tool_schemas() {
    return use_.in_use ? declare_tools(job_, request_.tools, ".function.parameters") : Status::ok();
  }
  Status unenforced() { return refuse_unenforced(job_, request_.tools, request_.tool_choice); }
  Status messages();
  Status reasoning_passed_back();
  Status json_word();
  Status strict_tools() { return rewrite_strict_tools(job_, use_); }
  Status tool_choice() {
    return apply_tool_choice(job_, use_,
                             request_.tool_choice ? request_.tool_choice->name : std::string());
  }
  Status prefix();
  Status stop();
  Status stream_options();
  Status response_schema();
  Status choices();
  Status penalties();
  Status temperature() { return set_temperature(job_, request_.temperature); }
  Status top_p() { return set_top_p(job_, request_.top_p, use_.in_use); }
  Status logprobs();
  Status max_tokens();
  Status seed();
  ThinkingStage thinking_stage() const;
  Status guided();

  const ChatRequest& request_;
  const ConversionOptions& options_;
  const RecipePolicy& policy_;
  ConvertedRequest out_;
  const ConversionJob job_;
  const ToolUse use_;
  /// The schema of `response_format` after the strict rewrite.
  Json constraint_schema_;
};

Status Converter::tool_names() {
  for (size_t i = 0; i < request_.tools.size(); ++i) {
    DI_TRY(check_tool_name(request_.tools[i].name, i));
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
  return refuse_member(
      "messages",
      "Prompt must contain the word 'json' in some form to use 'response_format' of type "
      "'json_object'.");
}

Status Converter::prefix() {
  if (request_.messages.empty() || !request_.messages.back().prefix) {
    return Status::ok();
  }
  if (format() == ResponseFormat::kJsonObject) {
    return refuse_member("response_format",
                         "response_format json_object should not be used with prefix");
  }
  const bool called = std::any_of(request_.messages.begin(), request_.messages.end(),
                                  [](const RequestMessage& m) { return m.tool_calls.has_value(); });
  return !request_.tools.empty() || called
             ? refuse_member("messages", "Function call should not be used with prefix")
             : Status::ok();
}

Status Converter::stop() {
  return request_.stop
             ? set_stop_sequences(job_, request_.stop->sequences, request_.stop->is_list, "stop")
             : Status::ok();
}

Status Converter::stream_options() {
  out_.stream = request_.stream;
  if (!request_.stream_options) {
    return Status::ok();
  }
  if (!request_.stream) {
    return refuse_member("stream_options", "stream_options should be set along with stream = true");
  }
  out_.include_usage = request_.stream_options->include_usage.value_or(false);
  out_.continuous_usage =
      out_.include_usage && request_.stream_options->continuous_usage_stats.value_or(false);
  return Status::ok();
}

Status Converter::response_schema() {
  DI_ASSIGN(constraint_schema_, check_response_schema(job_, request_.response_format));
  return Status::ok();
}

Status Converter::choices() {
  if (!policy_.several_choices) {
    return request_.n == 1
               ? Status::ok()
               : refuse_member("n", "Invalid n value (currently only n = 1 is supported)");
  }
  return request_.n >= 1 && request_.n <= kMaxChoices
             ? Status::ok()
             : refuse_member("n", "Invalid n value, the valid range of n is [1, " +
                                      std::to_string(kMaxChoices) + "]");
}

Status Converter::penalties() {
  const std::pair<std::string_view, std::optional<float>> kPenalties[] = {
      {"presence_penalty", request_.presence_penalty},
      {"frequency_penalty", request_.frequency_penalty},
  };
  for (const auto& [name, value] : kPenalties) {
    if (value && !(*value >= -2.0F && *value <= 2.0F)) {
      return refuse_member(name, "Invalid " + std::string(name) + " value, the valid range of " +
                                     std::string(name) + " is [-2, 2]");
    }
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
    return refuse_member("top_logprobs",
                         "Invalid top_logprobs and logprobs value, logprobs must be set to true if "
                         "top_logprobs is used.");
  }
  if (*request_.top_logprobs > 20) {
    return refuse_member("top_logprobs",
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
    return refuse_member(name, "Invalid " + name + " value, the valid range of " + name +
                                   " is [1, " + std::to_string(bound) + "]");
  }
  out_.options.max_tokens = limit;
  return Status::ok();
}

Status Converter::seed() {
  if (request_.seed && *request_.seed > static_cast<uint64_t>(INT64_MAX)) {
    return refuse_member("seed", "Invalid seed value, the valid range of seed is [0, 2^63)");
  }
  out_.options.seed = request_.seed;
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

Status Converter::guided() {
  if (request_.guided) {
    const std::string& member = request_.guided->param;
    if (use_.in_use) {
      return refuse_member(member, "`" + member + "` cannot be combined with `tools`");
    }
    if (out_.constraint) {
      return refuse_member(member, "`" + member + "` cannot be combined with `response_format`");
    }
    out_.constraint = request_.guided;
  }
  // A constraint is for the whole answer, a prefix has written part of it.
  return out_.constraint && request_.messages.back().prefix
             ? refuse_member(out_.constraint->param,
                             "`" + out_.constraint->param + "` cannot be combined with a prefix")
             : Status::ok();
}

}  // namespace

Result<ConvertedRequest> convert_chat_request(const ChatRequest& request,
                                              const ConversionOptions& options,
                                              const RecipePolicy& policy) {
  return Converter(request, options, policy).run();
}

}  // namespace deepinfer::protocol
