#include "protocol/messages/messages_conversion.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/conversion_steps.h"
#include "protocol/messages/messages_history.h"
#include "protocol/tool_schema.h"

namespace deepinfer::protocol {
namespace {

using ChoiceKind = RequestToolChoice::Kind;

constexpr std::string_view kWebSearch = "web_search";

/// Clients put a line for their own accounting in front of the system text.
bool is_billing_header(std::string_view text) {
  constexpr std::string_view kHeader = "x-anthropic-billing-header";
  return text.size() >= kHeader.size() &&
         std::equal(kHeader.begin(), kHeader.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

/// `any` asks for a call; the reference leaves the choice to the model.
std::optional<RequestToolChoice> choice_of(const MessagesRequest& request,
                                           const RecipePolicy& policy) {
  std::optional<RequestToolChoice> choice = request.tool_choice;
  if (choice && choice->kind == ChoiceKind::kRequired && !policy.any_forces_a_call) {
    choice->kind = ChoiceKind::kAuto;
  }
  return choice;
}

/// Converts one request; `run` performs the checks in their order.
class Converter {
 public:
  Converter(const MessagesRequest& request, const ConversionOptions& options,
            const RecipePolicy& policy)
      : request_(request),
        options_(options),
        policy_(policy),
        choice_(choice_of(request, policy)),
        job_{options, policy, out_} {}

  Result<ConvertedRequest> run() {
    using Step = Status (Converter::*)();
    constexpr Step kSteps[] = {
        &Converter::model,
        &Converter::tool_names,
        &Converter::unenforced,
        &Converter::messages,
        &Converter::reasoning_passed_back,
        &Converter::tools,
        &Converter::stop,
        &Converter::response_schema,
        &Converter::temperature,
        &Converter::top_p,
        &Converter::max_tokens,
    };
    out_.stream = request_.stream;
    out_.conversation.thinking_mode = wants_thinking(thinking_type(), request_.effort, options_);
    for (const Step step : kSteps) {
      DI_TRY((this->*step)());
    }
    finish_conversion(job_, request_.effort, request_.format, constraint_schema_, use(),
                      "output_config.format");
    if (policy_.thinking_budget && request_.thinking) {
      out_.thinking_budget = request_.thinking->budget_tokens;
    }
    out_.parsing.single_call = policy_.parallel_tool_calls && choice_ && choice_->single_call;
    return std::move(out_);
  }

 private:
  std::optional<ThinkingType> thinking_type() const {
    return request_.thinking ? std::optional(request_.thinking->type) : std::nullopt;
  }
  ToolUse use() const {
    const bool single = choice_ && choice_->single_call;
    return ToolUse(tools_, choice_, single ? std::optional(false) : std::nullopt);
  }

  Status model() { return select_model(job_, request_.model); }
  Status tool_names();
  Status unenforced() { return refuse_unenforced(job_, tools_, choice_); }
  Status messages();
  Status reasoning_passed_back();
  Status tools();
  Status stop() {
    return set_stop_sequences(job_, request_.stop_sequences, true, "stop_sequences");
  }
  Status response_schema() {
    DI_ASSIGN(constraint_schema_, check_response_schema(job_, request_.format));
    return Status::ok();
  }
  Status temperature() { return set_temperature(job_, request_.temperature); }
  Status top_p() { return set_top_p(job_, request_.top_p, use().in_use); }
  Status max_tokens();
  void add_system();
  void declare_added_tools();

  const MessagesRequest& request_;
  const ConversionOptions& options_;
  const RecipePolicy& policy_;
  const std::optional<RequestToolChoice> choice_;
  ConvertedRequest out_;
  const ConversionJob job_;
  /// Without those of the provider.
  std::vector<RequestTool> tools_;
  std::vector<HistoryTurn> turns_;
  Json constraint_schema_;
};

Status Converter::tool_names() {
  for (size_t i = 0; i < request_.tools.size(); ++i) {
    const MessagesTool& given = request_.tools[i];
    if (given.type) {
      if (options_.drop_messages_web_search && given.type->rfind(kWebSearch, 0) == 0) {
        continue;
      }
      return refuse_member(item_of("tools", i),
                           item_of("tools", i) + ": server tools are not supported");
    }
    DI_TRY(check_tool_name(given.tool.name, item_of("tools", i) + ".name"));
    tools_.push_back(given.tool);
    tools_.back().defer_loading &= out_.encoding == recipe::Encoding::kV41;
  }
  const bool all_deferred =
      !tools_.empty() && std::all_of(tools_.begin(), tools_.end(),
                                     [](const RequestTool& tool) { return tool.defer_loading; });
  return all_deferred
             ? refuse_member("tools",
                             "tools: at least one tool must have defer_loading=false. All tools "
                             "cannot be deferred.")
             : Status::ok();
}

void Converter::add_system() {
  if (!request_.system) {
    return;
  }
  const std::vector<std::string>& texts = *request_.system;
  const bool billed = request_.system_is_list && !texts.empty() && is_billing_header(texts.front());
  std::string text;
  for (size_t i = billed ? 1 : 0; i < texts.size(); ++i) {
    text += (i == (billed ? 1U : 0U) ? "" : "\n\n") + texts[i];
  }
  turns_.push_back({.message = {.role = recipe::Role::kSystem, .content = std::move(text)}});
}

Status Converter::messages() {
  HistoryContext context{.encoding = out_.encoding,
                         .thinking = out_.conversation.thinking_mode,
                         .drop_server_tools = options_.drop_messages_web_search,
                         .tool_names = {},
                         .policy = policy_};
  for (const RequestTool& tool : tools_) {
    context.tool_names.insert(tool.name);
  }
  add_system();
  DI_ASSIGN(std::vector<HistoryTurn> history, convert_history(request_.messages, context));
  std::move(history.begin(), history.end(), std::back_inserter(turns_));
  return Status::ok();
}

Status Converter::reasoning_passed_back() {
  if (!options_.reject_missing_reasoning || !out_.conversation.thinking_mode) {
    return Status::ok();
  }
  std::vector<PastTurn> past;
  for (const HistoryTurn& turn : turns_) {
    past.push_back({.role = turn.message.role,
                    .has_reasoning = turn.has_thinking,
                    .calls = &turn.message.tool_calls});
  }
  return missing_reasoning(past, !request_.tools.empty())
             ? refuse_member("messages",
                             "The `content[].thinking` in the thinking mode must be passed back "
                             "to the API.")
             : Status::ok();
}

/// Tools that are not in use are not looked at further.
Status Converter::tools() {
  if (use().in_use) {
    DI_TRY(declare_tools(job_, tools_, ".input_schema", MissingSchema::kChecked));
    DI_TRY(rewrite_strict_tools(job_, use()));
  }
  DI_TRY(apply_tool_choice(job_, use(), choice_ ? choice_->name : std::string()));
  declare_added_tools();
  return Status::ok();
}

/// Only tools that are declared at all can be added later.
void Converter::declare_added_tools() {
  std::map<std::string_view, const recipe::ToolDeclaration*> declared;
  for (const recipe::ToolDeclaration& tool : out_.conversation.tools) {
    declared.emplace(tool.name, &tool);
  }
  for (HistoryTurn& turn : turns_) {
    for (const std::string& name : turn.added_tools) {
      const auto tool = declared.find(name);
      if (tool == declared.end()) {
        continue;
      }
      turn.message.tools.push_back(*tool->second);
      if (policy_.added_tools_once) {
        declared.erase(tool);
      }
    }
    if (!turn.only_for_tools || !turn.message.tools.empty()) {
      out_.conversation.messages.push_back(std::move(turn.message));
    }
  }
}

/// Above the bound it is lowered, not refused.
Status Converter::max_tokens() {
  const uint32_t bound = out_.conversation.thinking_mode ? options_.thinking_max_tokens
                                                         : options_.non_thinking_max_tokens;
  if (request_.max_tokens == 0U) {
    return refuse_member("max_tokens",
                         "Invalid max_tokens value, the valid range of max_tokens is [1, " +
                             std::to_string(bound) + "]");
  }
  if (request_.max_tokens) {
    out_.options.max_tokens = std::min(*request_.max_tokens, bound);
  }
  return Status::ok();
}

}  // namespace

Result<ConvertedRequest> convert_messages_request(const MessagesRequest& request,
                                                  const ConversionOptions& options,
                                                  const RecipePolicy& policy) {
  return Converter(request, options, policy).run();
}

}  // namespace deepinfer::protocol
