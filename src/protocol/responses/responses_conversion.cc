// Conversion of a Responses request. The first failing check is the one reported; their order
// is the reference's.

#include "protocol/responses/responses_conversion.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "protocol/conversion_steps.h"
#include "protocol/responses/declared_tools.h"
#include "protocol/responses/input_turns.h"

namespace deepinfer::protocol {
namespace {

using recipe::ResponseFormat;
using recipe::Role;

/// Converts one request, whose model is known; `run` performs the checks in their order.
class Converter {
 public:
  Converter(const ResponsesRequest& request, const ConversionJob& job)
      : request_(request),
        job_(job),
        names_(request, job.out.encoding),
        declared_(job, names_),
        turns_(job, names_) {
    if (request.text.kind != ResponseFormat::kText) {
      format_ = RequestFormat{.kind = request.text.kind,
                              .schema = request.text.schema,
                              .strict = request.text.strict.value_or(false)};
    }
    if (request.tool_choice) {
      choice_ = request.tool_choice->choice;
    }
  }

  Status run() {
    DI_TRY(declared_.add(request_.tools, "tools", false));
    DI_TRY(found_tools());
    DI_TRY(unenforced());
    DI_TRY(input());
    const ToolUse use(declared_.tools(), choice_, request_.parallel_tool_calls);
    DI_TRY(reasoning_passed_back());
    DI_TRY(web_search_choice());
    if (use.in_use) {  // others are not looked at any further
      DI_TRY(declare_tools(job_, declared_.tools(), ".parameters", MissingSchema::kEmpty,
                           StrictRewrite::kNow));
    }
    DI_TRY(apply_tool_choice(job_, use, choice_ ? choice_->name : std::string()));
    DI_TRY(json_word());
    DI_ASSIGN(const Json schema, check_response_schema(job_, format_));
    DI_TRY(set_temperature(job_, request_.temperature));
    DI_TRY(set_top_p(job_, request_.top_p, use.in_use));
    DI_TRY(logprobs());
    DI_TRY(max_tokens());
    declare_found_tools();
    finish_conversion(job_, request_.effort, format_, schema, use, "text.format");
    job_.out.stream = request_.stream;
    job_.out.thinking_budget = request_.thinking_token_budget;
    job_.out.parsing.single_call = !request_.parallel_tool_calls.value_or(true);
    return Status::ok();
  }

  CallNames take_call_names() { return std::move(declared_.call_names()); }

 private:
  Status unenforced() const { return refuse_unenforced(job_, declared_.tools(), choice_); }
  Status found_tools();
  Status input();
  Status item(const InputItem& item, size_t index);
  Status reasoning_passed_back() const;
  Status web_search_choice() const;
  Status json_word() const;
  Status logprobs() const;
  Status max_tokens() const;
  void declare_found_tools() const;

  const ResponsesRequest& request_;
  const ConversionJob& job_;
  ToolNames names_;
  DeclaredTools declared_;
  InputTurns turns_;
  /// What the search answered by an item found: declared names.
  std::map<size_t, std::vector<std::string>> found_;
  /// Absent for plain text.
  std::optional<RequestFormat> format_;
  std::optional<RequestToolChoice> choice_;
};

Status Converter::input() {
  auto& messages = job_.out.conversation.messages;
  const bool instructed = request_.instructions && !request_.instructions->empty();
  if (!request_.input_text && !request_.input_items && !instructed) {
    return refuse_member("input", "Either input or instructions must be provided");
  }
  if (instructed) {
    messages.push_back({.role = Role::kSystem, .content = *request_.instructions});
  }
  if (request_.input_text) {
    messages.push_back({.role = Role::kUser, .content = *request_.input_text});
  }
  if (!request_.input_items) {
    return Status::ok();
  }
  if (request_.input_items->empty()) {
    return refuse_member("input", "Input items array must not be empty");
  }
  for (size_t i = 0; i < request_.input_items->size(); ++i) {
    DI_TRY(item((*request_.input_items)[i], i));
  }
  return turns_.finish();
}

Status Converter::item(const InputItem& item, size_t index) {
  const std::string place = item_of("input", index);
  if (item.type == "item_reference" && job_.policy.refuse_stateful) {
    return unsupported_member(place, "An `item_reference`, for this server stores no items: it");
  }
  DI_TRY(turns_.add(item, index));
  if (item.kind != InputItem::Kind::kSearchOutput || job_.out.encoding == recipe::Encoding::kV4) {
    return Status::ok();
  }
  const bool all_known = std::none_of(
      item.tools.begin(), item.tools.end(),
      [](const ResponsesTool& tool) { return tool.kind == ResponsesTool::Kind::kUnknown; });
  if (!all_known) {
    return refuse_member(place + ".tools",
                         place +
                             ": the enum variant ResponsesTool::Unsupported cannot be "
                             "serialized");
  }
  turns_.declare_found(found_[index]);
  return Status::ok();
}

/// Checks the tools that searches found, before the items are looked at otherwise.
Status Converter::found_tools() {
  const bool searches = job_.out.encoding != recipe::Encoding::kV4;
  for (size_t i = 0; request_.input_items && searches && i < request_.input_items->size(); ++i) {
    const InputItem& item = (*request_.input_items)[i];
    const size_t known = declared_.tools().size();
    DI_TRY(declared_.add(item.tools, item_of("input", i) + ".tools", true));
    for (size_t k = known; k < declared_.tools().size(); ++k) {
      found_[i].push_back(declared_.tools()[k].name);
    }
  }
  return Status::ok();
}

Status Converter::reasoning_passed_back() const {
  if (!job_.options.reject_missing_reasoning || !job_.out.conversation.thinking_mode) {
    return Status::ok();
  }
  std::vector<PastTurn> turns;
  for (const recipe::ChatMessage& message : job_.out.conversation.messages) {
    turns.push_back({.role = message.role,
                     .has_reasoning = !message.reasoning_content.value_or("").empty(),
                     .calls = &message.tool_calls});
  }
  return missing_reasoning(turns, !declared_.tools().empty())
             ? refuse_member("input",
                             "The `reasoning_text` in the thinking mode must be passed back to "
                             "the API.")
             : Status::ok();
}

Status Converter::web_search_choice() const {
  const bool wanted =
      request_.tool_choice && (request_.tool_choice->type == "web_search" ||
                               request_.tool_choice->type == "web_search_2025_08_26");
  return wanted && job_.options.reject_responses_web_search
             ? refuse_member("tool_choice", "Server tools are not supported")
             : Status::ok();
}

Status Converter::json_word() const {
  if (request_.text.kind != ResponseFormat::kJsonObject) {
    return Status::ok();
  }
  const auto& messages = job_.out.conversation.messages;
  const bool found = std::any_of(messages.begin(), messages.end(), [](const auto& message) {
    return contains_json_word(message.content);
  });
  return found ? Status::ok()
               : refuse_member("input",
                               "Response input messages must contain the word 'json' in some form "
                               "to use 'text.format' of type 'json_object'.");
}

Status Converter::logprobs() const {
  InferenceOptions& options = job_.out.options;
  options.logprobs = request_.top_logprobs.has_value() || request_.include_logprobs;
  options.top_logprobs = request_.top_logprobs;
  return request_.top_logprobs.value_or(0) <= 20
             ? Status::ok()
             : refuse_member(
                   "top_logprobs",
                   "Invalid top_logprobs value, the valid range of top_logprobs is [0, 20].");
}

Status Converter::max_tokens() const {
  const auto limit = request_.max_output_tokens;
  const uint32_t bound = job_.out.conversation.thinking_mode ? job_.options.thinking_max_tokens
                                                             : job_.options.non_thinking_max_tokens;
  if (limit && (*limit < 1 || *limit > bound)) {
    // The reference uses Chat's name for it.
    const std::string name = job_.policy.error_param ? "max_output_tokens" : "max_tokens";
    return refuse_member("max_output_tokens", "Invalid " + name + " value, the valid range of " +
                                                  name + " is [1, " + std::to_string(bound) + "]");
  }
  job_.out.options.max_tokens = limit;
  return Status::ok();
}

/// Declares what searches found where they found it, as far as it is still in use.
void Converter::declare_found_tools() const {
  recipe::Conversation& conversation = job_.out.conversation;
  std::map<std::string_view, const recipe::ToolDeclaration*> in_use;
  for (const recipe::ToolDeclaration& tool : conversation.tools) {
    in_use.emplace(tool.name, &tool);
  }
  std::set<size_t> empty;
  for (const InputTurns::Update& update : turns_.updates()) {
    recipe::ChatMessage& message = conversation.messages[update.message];
    for (const std::string& name : update.tools) {
      if (const auto at = in_use.find(name); at != in_use.end()) {
        message.tools.push_back(*at->second);
      }
    }
    if (message.tools.empty()) {
      empty.insert(update.message);
    }
  }
  const recipe::ChatMessage* first = conversation.messages.data();
  conversation.messages.erase(
      std::remove_if(conversation.messages.begin(), conversation.messages.end(),
                     [&](const auto& message) {
                       return empty.count(static_cast<size_t>(&message - first)) > 0;
                     }),
      conversation.messages.end());
}

}  // namespace

Result<ConvertedResponses> convert_responses_request(const ResponsesRequest& request,
                                                     const ConversionOptions& options,
                                                     const RecipePolicy& policy) {
  ConvertedResponses out;
  const ConversionJob job{options, policy, out.request};
  out.request.conversation.thinking_mode = wants_thinking(std::nullopt, request.effort, options);
  DI_TRY(select_model(job, request.model));
  Converter converter(request, job);
  DI_TRY(converter.run());
  out.names = converter.take_call_names();
  return out;
}

}  // namespace deepinfer::protocol
