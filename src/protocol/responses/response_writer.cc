#include "protocol/responses/response_writer.h"

#include <charconv>
#include <utility>

#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::append_json_string;
using Kind = OutputItem::Kind;

void append_name(std::string_view name, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
}

void append_member(std::string_view name, std::string_view text, std::string& out) {
  append_name(name, out);
  append_json_string(text, out);
}

void append_optional(std::string_view name, const std::optional<std::string>& text,
                     std::string& out) {
  append_name(name, out);
  if (text) {
    append_json_string(*text, out);
  } else {
    out += "null";
  }
}

/// The shortest digits that give the same f32; a whole number keeps `.0`.
void append_float(std::string_view name, float value, std::string& out) {
  append_name(name, out);
  char text[32];
  const std::string_view digits(
      text, static_cast<size_t>(std::to_chars(text, text + sizeof(text), value).ptr - text));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) {
    out += ".0";
  }
}

void append_format(const ResponsesText& text, std::string& out) {
  out += R"("format":)";
  switch (text.kind) {
    case recipe::ResponseFormat::kText:
    case recipe::ResponseFormat::kRegex:  // which this protocol does not have
      out += R"({"type":"text"})";
      return;
    case recipe::ResponseFormat::kJsonObject:
      out += R"({"type":"json_object"})";
      return;
    case recipe::ResponseFormat::kJsonSchema:
      break;
  }
  out += R"({"type":"json_schema")";
  append_member("name", text.name, out);
  append_name("schema", out);
  recipe::append_json(text.schema, recipe::JsonStyle::kCompact, out);
  append_optional("description", text.description, out);
  append_name("strict", out);
  out += text.strict ? (*text.strict ? "true" : "false") : "null";
  out += '}';
}

void append_tool_choice(const std::optional<ResponsesToolChoice>& choice, std::string& out) {
  using ChoiceKind = RequestToolChoice::Kind;
  append_name("tool_choice", out);
  if (choice && !choice->type.empty()) {
    out += R"({"type":)";
    append_json_string(choice->type, out);
    if (choice->choice.kind == ChoiceKind::kNamed) {
      append_member("name", choice->choice.name, out);
    }
    out += '}';
    return;
  }
  const ChoiceKind kind = choice ? choice->choice.kind : ChoiceKind::kAuto;
  out += kind == ChoiceKind::kNone       ? R"("none")"
         : kind == ChoiceKind::kRequired ? R"("required")"
                                         : R"("auto")";
}

/// Tools that the model is told of; a search that nobody runs is none.
std::vector<ResponsesTool> tools_in_force(const ResponsesRequest& request) {
  std::vector<ResponsesTool> tools;
  for (const ResponsesTool& tool : request.tools) {
    if (tool.kind != ResponsesTool::Kind::kWebSearch) {
      tools.push_back(tool);
    }
  }
  return tools;
}

void append_reasoning(const ResponsesRequest& request, std::string& out) {
  append_name("reasoning", out);
  std::string members;
  append_optional("effort", request.effort_spelled, members);
  append_optional("summary", request.reasoning_summary, members);
  out += '{';
  out.append(members, 1);  // without the comma in front
  out += '}';
}

/// From the instructions to the beginning of the output.
std::string limits_json(const ResponsesRequest& request, std::string_view model) {
  std::string out;
  append_optional("instructions", request.instructions, out);
  append_name("max_output_tokens", out);
  out += request.max_output_tokens ? std::to_string(*request.max_output_tokens) : "null";
  out += R"(,"max_tool_calls":null)";
  append_member("model", model, out);
  out += R"(,"moderation":null,"output":[)";
  return out;
}

/// From the end of the output to the usage.
std::string settings_json(const ResponsesRequest& request, const RecipePolicy& policy) {
  std::string out = std::string(R"(],"parallel_tool_calls":)") +
                    (request.parallel_tool_calls.value_or(true) ? "true" : "false") +
                    R"(,"presence_penalty":0.0,"previous_response_id":null,)"
                    R"("prompt_cache_key":null,"prompt_cache_retention":null)";
  append_reasoning(request, out);
  out += R"(,"safety_identifier":null,"service_tier":"default","store":false)";
  append_float("temperature", request.temperature.value_or(1.0F), out);
  out += R"(,"text":{)";
  append_format(request.text, out);
  append_optional("verbosity", request.text.verbosity, out);
  out += '}';
  append_tool_choice(request.tool_choice, out);
  append_name("tools", out);
  out += tools_json(policy.report_tools_in_force ? tools_in_force(request) : request.tools);
  out += R"(,"top_logprobs":)" + std::to_string(request.top_logprobs.value_or(0));
  append_float("top_p", request.top_p.value_or(1.0F), out);
  out += R"(,"truncation":"disabled","usage":)";
  return out;
}

void append_usage(const std::optional<ResponsesUsage>& usage, std::string& out) {
  if (!usage) {
    out += "null";
    return;
  }
  out += R"({"input_tokens":)" + std::to_string(usage->prompt_tokens) +
         R"(,"input_tokens_details":{"cached_tokens":)" + std::to_string(usage->cached_tokens) +
         R"(},"output_tokens":)" + std::to_string(usage->completion_tokens) +
         R"(,"output_tokens_details":{"reasoning_tokens":)" +
         std::to_string(usage->reasoning_tokens) + R"(},"total_tokens":)" +
         std::to_string(usage->prompt_tokens + usage->completion_tokens) + '}';
}

}  // namespace

ResponseWriter::ResponseWriter(const ResponsesEnvelope& envelope, const ResponsesRequest& request,
                               const RecipePolicy& policy)
    : envelope_(envelope),
      before_output_(limits_json(request, envelope.model)),
      before_usage_(settings_json(request, policy)) {
  append_optional("user", request.user, after_usage_);
  after_usage_ += R"(,"metadata":{}})";
}

std::string ResponseWriter::response(const ResponsesState& state,
                                     const std::vector<OutputItem>& items) const {
  std::string out = R"({"id":)";
  append_json_string(envelope_.id, out);
  out += R"(,"object":"response","created_at":)" + std::to_string(envelope_.created);
  append_member("status", state.status, out);
  out += R"(,"background":false,"completed_at":)";
  out += state.completed == 0 ? "null" : std::to_string(state.completed);
  out += R"(,"content_filters":null,"error":)";
  out += state.error.empty() ? "null" : state.error;
  out += R"(,"frequency_penalty":0.0,"incomplete_details":)";
  if (state.incomplete_reason.empty()) {
    out += "null";
  } else {
    out += R"({"reason":)";
    append_json_string(state.incomplete_reason, out);
    out += '}';
  }
  out += before_output_;
  for (size_t i = 0; i < items.size(); ++i) {
    out += i == 0 ? "" : ",";
    append_output_item(items[i], envelope_.id, true, out);
  }
  out += before_usage_;
  append_usage(state.usage, out);
  return out + after_usage_;
}

// ------------------------------------------------------------------------- events

Event ResponseWriter::begin(std::string_view type) {
  Event event;
  event.name = type;
  event.data.reserve(256);
  event.data += R"({"type":")";
  event.data += type;
  event.data += R"(","sequence_number":)";
  event.data += std::to_string(next_number_++);
  return event;
}

Event ResponseWriter::on_item(std::string_view type, const OutputItem& item) {
  Event event = begin(type);
  append_member("item_id", item.id, event.data);
  event.data += R"(,"output_index":)";
  event.data += std::to_string(item.index);
  return event;
}

Event ResponseWriter::response_event(std::string_view type, std::string_view response) {
  Event event = begin(type);
  append_name("response", event.data);
  event.data += response;
  event.data += '}';
  return event;
}

Event ResponseWriter::item_added(const OutputItem& item) {
  Event event = begin("response.output_item.added");
  event.data += R"(,"output_index":)" + std::to_string(item.index) + R"(,"item":)";
  append_output_item(item, envelope_.id, false, event.data);
  event.data += '}';
  return event;
}

Event ResponseWriter::item_done(const OutputItem& item) {
  Event event = begin("response.output_item.done");
  event.data += R"(,"output_index":)" + std::to_string(item.index) + R"(,"item":)";
  append_output_item(item, envelope_.id, true, event.data);
  event.data += '}';
  return event;
}

Event ResponseWriter::part_added(const OutputItem& item) {
  Event event = on_item("response.content_part.added", item);
  event.data += R"(,"content_index":0,"part":)";
  append_content_part(item, false, event.data);
  event.data += '}';
  return event;
}

Event ResponseWriter::part_done(const OutputItem& item) {
  Event event = on_item("response.content_part.done", item);
  event.data += R"(,"content_index":0,"part":)";
  append_content_part(item, true, event.data);
  event.data += '}';
  return event;
}

namespace {

/// How the text of a kind of item is sent; a search sends none.
struct TextEvents {
  Kind kind;
  std::string_view delta;
  std::string_view done;
  /// The whole text in the event that ends it.
  std::string_view member;
};
constexpr TextEvents kTextEvents[] = {
    {Kind::kReasoning, "response.reasoning_text.delta", "response.reasoning_text.done", "text"},
    {Kind::kMessage, "response.output_text.delta", "response.output_text.done", "text"},
    {Kind::kFunctionCall, "response.function_call_arguments.delta",
     "response.function_call_arguments.done", "arguments"},
    {Kind::kCustomCall, "response.custom_tool_call_input.delta",
     "response.custom_tool_call_input.done", "input"},
};

bool has_part(const OutputItem& item) {
  return item.kind == Kind::kReasoning || item.kind == Kind::kMessage;
}

void append_logprobs(std::string_view entries, std::string& out) {
  out += R"(,"logprobs":[)";
  out += entries;
  out += ']';
}

}  // namespace

Event ResponseWriter::text_delta(const OutputItem& item, std::string_view text,
                                 std::string_view logprobs) {
  Event event = on_item(kTextEvents[static_cast<size_t>(item.kind)].delta, item);
  if (has_part(item)) {
    event.data += R"(,"content_index":0)";
  }
  append_member("delta", text, event.data);
  if (item.kind == Kind::kMessage) {
    append_logprobs(logprobs, event.data);
  }
  event.data += '}';
  return event;
}

Event ResponseWriter::text_done(const OutputItem& item) {
  const TextEvents& row = kTextEvents[static_cast<size_t>(item.kind)];
  Event event = on_item(row.done, item);
  if (has_part(item)) {
    event.data += R"(,"content_index":0)";
  }
  append_member(row.member, item.text, event.data);
  if (item.kind == Kind::kMessage) {
    append_logprobs(item.logprobs, event.data);
  }
  event.data += '}';
  return event;
}

Event ResponseWriter::error(std::string_view error_body) {
  Event event = begin("error");
  const Json body = Json::parse(error_body);
  const Json& error = body["error"];
  for (const char* member : {"code", "message", "param"}) {
    append_name(member, event.data);
    recipe::append_json(error.value(member, Json()), recipe::JsonStyle::kCompact, event.data);
  }
  append_name("error", event.data);
  recipe::append_json(error, recipe::JsonStyle::kCompact, event.data);
  event.data += '}';
  return event;
}

}  // namespace deepinfer::protocol
