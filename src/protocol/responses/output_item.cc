#include "protocol/responses/output_item.h"

#include "recipe/json_reader.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::append_json_string;
using Kind = OutputItem::Kind;

struct KindRow {
  Kind kind;
  std::string_view type;
  std::string_view prefix;
};
constexpr KindRow kKinds[] = {
    {Kind::kReasoning, "reasoning", "rs_"},
    {Kind::kMessage, "message", "msg_"},
    {Kind::kFunctionCall, "function_call", "fc_"},
    {Kind::kCustomCall, "custom_tool_call", "ctc_"},
    {Kind::kSearchCall, "tool_search_call", "tsc_"},
};

const KindRow& row_of(Kind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(text, out);
}

void append_call(const OutputItem& item, bool with_content, std::string& out) {
  const std::string_view text = with_content ? std::string_view(item.text) : std::string_view();
  append_member("call_id", item.call_id, out);
  if (item.kind == Kind::kSearchCall) {
    out += R"(,"execution":"client","arguments":)";
    const bool usable = with_content && item.status == OutputItem::Status::kCompleted;
    out += usable ? text : "{}";
    return;
  }
  append_member("name", item.name, out);
  if (!item.space.empty()) {
    append_member("namespace", item.space, out);
  }
  append_member(item.kind == Kind::kCustomCall ? "input" : "arguments", text, out);
}

}  // namespace

std::string_view to_string(OutputItem::Status status) {
  switch (status) {
    case OutputItem::Status::kInProgress:
      return "in_progress";
    case OutputItem::Status::kCompleted:
      return "completed";
    case OutputItem::Status::kIncomplete:
      return "incomplete";
  }
  return {};
}

std::string output_item_id(Kind kind, std::string_view response_id, size_t index) {
  std::string id(row_of(kind).prefix);
  id += response_id;
  id += '_';
  id += std::to_string(index);
  return id;
}

void append_content_part(const OutputItem& item, bool with_text, std::string& out) {
  if (item.kind == Kind::kReasoning) {
    out += R"({"type":"reasoning_text")";
  } else {
    out += R"({"type":"output_text","annotations":[],"logprobs":[)";
    out += with_text ? std::string_view(item.logprobs) : std::string_view();
    out += ']';
  }
  append_member("text", with_text ? std::string_view(item.text) : std::string_view(), out);
  out += '}';
}

void append_output_item(const OutputItem& item, std::string_view response_id, bool with_content,
                        std::string& out) {
  out += R"({"type":")";
  out += row_of(item.kind).type;
  out += '"';
  append_member("id", item.id, out);
  append_member("status", to_string(item.status), out);
  const bool has_content = item.kind == Kind::kReasoning || item.kind == Kind::kMessage;
  if (!has_content) {
    append_call(item, with_content, out);
    out += '}';
    return;
  }
  if (item.kind == Kind::kMessage) {
    out += R"(,"role":"assistant","phase":)";
    out += item.is_commentary ? R"("commentary")" : R"("final_answer")";
  }
  out += R"(,"content":[)";
  if (with_content) {
    append_content_part(item, true, out);
  }
  out += ']';
  if (item.kind == Kind::kReasoning) {
    out += R"(,"summary":[])";
    append_member("encrypted_content", std::string(response_id) + "-" + std::to_string(item.index),
                  out);
  }
  out += '}';
}

std::optional<std::string> search_arguments(const OutputItem& item) {
  const auto json = recipe::read_json(
      item.text, {.max_depth = recipe::kMaxJsonDepth, .refuse_duplicate_keys = false});
  if (!json.has_value() || !json->is_object()) {
    return std::nullopt;
  }
  std::string text;
  recipe::append_json(*json, recipe::JsonStyle::kCompact, text);
  return text;
}

}  // namespace deepinfer::protocol
