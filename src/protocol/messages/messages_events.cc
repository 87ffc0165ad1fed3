#include "protocol/messages/messages_events.h"

#include "recipe/json_reader.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::append_json_string;
using Kind = AnswerBlock::Kind;

/// How one kind of block is spelled.
struct KindNames {
  std::string_view block;
  std::string_view delta;
  /// The member of a delta that holds the text.
  std::string_view member;
};
constexpr KindNames kNames[] = {
    {"thinking", "thinking_delta", "thinking"},
    {"text", "text_delta", "text"},
    {"tool_use", "input_json_delta", "partial_json"},
};

const KindNames& names_of(Kind kind) {
  return kNames[static_cast<size_t>(kind)];
}

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out += '"';
  out += name;
  out += "\":";
  append_json_string(text, out);
}

Event event(std::string_view name, std::string_view members = {}) {
  std::string data = R"({"type":")";
  data += name;
  data += '"';
  data += members;
  data += '}';
  return {.name = std::string(name), .data = std::move(data)};
}

std::string indexed(size_t index) {
  return ",\"index\":" + std::to_string(index);
}

std::string usage_json(const MessagesUsage& usage) {
  return R"({"input_tokens":)" + std::to_string(usage.prompt_tokens - usage.cached_tokens) +
         R"(,"cache_creation_input_tokens":0,"cache_read_input_tokens":)" +
         std::to_string(usage.cached_tokens) + R"(,"output_tokens":)" +
         std::to_string(usage.completion_tokens) + R"(,"service_tier":"standard"})";
}

std::string stop_json(const StopInfo& stop) {
  std::string out = R"("stop_reason":)";
  if (stop.reason.empty()) {
    out += "null";
  } else {
    append_json_string(stop.reason, out);
  }
  out += R"(,"stop_sequence":)";
  if (stop.by_sequence) {
    append_json_string(stop.sequence, out);
  } else {
    out += "null";
  }
  return out;
}

/// The arguments as the object they spell; `{}` if they do not.
void append_input(const std::string& arguments, std::string& out) {
  const auto input = recipe::read_json(
      arguments, {.max_depth = recipe::kMaxJsonDepth, .refuse_duplicate_keys = false});
  if (input) {
    recipe::append_json(*input, recipe::JsonStyle::kCompact, out);
  } else {
    out += "{}";
  }
}

void append_block(const AnswerBlock& block, std::string_view signature, std::string& out) {
  out += R"({"type":")";
  out += names_of(block.kind).block;
  out += "\",";
  switch (block.kind) {
    case Kind::kThinking:
      append_member("thinking", block.text, out);
      out += ',';
      append_member("signature", signature, out);
      break;
    case Kind::kText:
      append_member("text", block.text, out);
      break;
    case Kind::kToolUse:
      append_member("id", block.id, out);
      out += ',';
      append_member("name", block.name, out);
      out += R"(,"input":)";
      append_input(block.text, out);
      break;
  }
  out += '}';
}

}  // namespace

Event MessagesWriter::message_start(const MessagesUsage& usage) const {
  return event("message_start", ",\"message\":" + message({}, {}, usage));
}

Event MessagesWriter::block_start(size_t index, const AnswerBlock& block) const {
  std::string members = indexed(index) + R"(,"content_block":)";
  append_block({.kind = block.kind, .text = {}, .id = block.id, .name = block.name}, {}, members);
  return event("content_block_start", members);
}

Event MessagesWriter::ping() const {
  return event("ping");
}

Event MessagesWriter::delta(size_t index, Kind kind, std::string_view text) const {
  std::string members = indexed(index) + R"(,"delta":{"type":")";
  members += names_of(kind).delta;
  members += "\",";
  append_member(names_of(kind).member, text, members);
  members += '}';
  return event("content_block_delta", members);
}

Event MessagesWriter::signature(size_t index) const {
  std::string members = indexed(index) + R"(,"delta":{"type":"signature_delta",)";
  append_member("signature", envelope_.id, members);
  members += '}';
  return event("content_block_delta", members);
}

Event MessagesWriter::block_stop(size_t index) const {
  return event("content_block_stop", indexed(index));
}

Event MessagesWriter::message_delta(const StopInfo& stop, const MessagesUsage& usage) const {
  return event("message_delta",
               ",\"delta\":{" + stop_json(stop) + "},\"usage\":" + usage_json(usage));
}

Event MessagesWriter::message_stop() const {
  return event("message_stop");
}

std::string MessagesWriter::message(const std::vector<const AnswerBlock*>& blocks,
                                    const StopInfo& stop, const MessagesUsage& usage) const {
  std::string out = "{";
  append_member("id", envelope_.id, out);
  out += R"(,"type":"message","role":"assistant",)";
  append_member("model", envelope_.model, out);
  out += R"(,"content":[)";
  for (const AnswerBlock* block : blocks) {
    out += out.back() == '[' ? "" : ",";
    append_block(*block, envelope_.id, out);
  }
  out += "]," + stop_json(stop) + ",\"usage\":" + usage_json(usage) + '}';
  return out;
}

}  // namespace deepinfer::protocol
