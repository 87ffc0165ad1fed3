#include "protocol/chat/chat_chunks.h"

#include <utility>

#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::append_json_string;
using recipe::MessageDelta;

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out += '"';
  out += name;
  out += "\":";
  append_json_string(text, out);
}

void append_fingerprint(const ChatEnvelope& envelope, std::string& out) {
  out += R"("system_fingerprint":)";
  if (envelope.system_fingerprint) {
    append_json_string(*envelope.system_fingerprint, out);
  } else {
    out += "null";
  }
}

void append_head(const ChatEnvelope& envelope, std::string_view object, std::string& out) {
  out += '{';
  append_member("id", envelope.id, out);
  out += ',';
  append_member("object", object, out);
  out += ",\"created\":" + std::to_string(envelope.created) + ',';
  append_member("model", envelope.model, out);
  out += ',';
}

void append_reasoning(const ChatEnvelope& envelope, std::string_view text, std::string& out) {
  std::string_view separator;
  for (const std::string& field : envelope.reasoning_fields) {
    out += separator;
    append_member(field, text, out);
    separator = ",";
  }
}

}  // namespace

std::string usage_json(const ChatUsage& usage) {
  const uint64_t missed = usage.prompt_tokens - usage.cached_tokens;
  std::string out =
      R"({"prompt_tokens":)" + std::to_string(usage.prompt_tokens) + R"(,"completion_tokens":)" +
      std::to_string(usage.completion_tokens) + R"(,"total_tokens":)" +
      std::to_string(usage.prompt_tokens + usage.completion_tokens) +
      R"(,"prompt_tokens_details":{"cached_tokens":)" + std::to_string(usage.cached_tokens) + "}";
  if (usage.reasoning_tokens) {
    out += R"(,"completion_tokens_details":{"reasoning_tokens":)" +
           std::to_string(*usage.reasoning_tokens) + "}";
  }
  out += R"(,"prompt_cache_hit_tokens":)" + std::to_string(usage.cached_tokens) +
         R"(,"prompt_cache_miss_tokens":)" + std::to_string(missed) + "}";
  return out;
}

ChunkWriter::ChunkWriter(const ChatEnvelope& envelope, const RecipePolicy& policy)
    : envelope_(envelope), policy_(policy) {
  append_head(envelope_, "chat.completion.chunk", prefix_);
  append_fingerprint(envelope_, prefix_);
  prefix_ += R"(,"choices":[)";
}

std::string ChunkWriter::begin(int32_t choice) const {
  std::string chunk;
  chunk.reserve(prefix_.size() + 160);
  chunk += prefix_;
  chunk += R"({"index":)";
  chunk += std::to_string(choice);
  chunk += R"(,"delta":{)";
  return chunk;
}

/// Closes delta, choice and chunk.
std::string ChunkWriter::end(std::string chunk, std::string_view logprobs,
                             std::string_view finish) const {
  chunk += R"(},"logprobs":)";
  if (logprobs.empty()) {
    chunk += "null";
  } else {
    chunk += logprobs;
  }
  chunk += R"(,"finish_reason":)";
  if (finish.empty()) {
    chunk += "null}";
    chunk += tail({});
  } else {
    append_json_string(finish, chunk);
    chunk += '}';
  }
  return chunk;
}

std::string ChunkWriter::tail(std::string_view usage) const {
  std::string out = "]";
  if (!usage.empty()) {
    out += R"(,"usage":)";
    out += usage;
  } else if (envelope_.announces_usage && !policy_.usage_chunk) {
    out += R"(,"usage":null)";
  }
  out += '}';
  return out;
}

std::string ChunkWriter::role(int32_t choice) const {
  std::string chunk = begin(choice);
  if (!envelope_.thinking) {
    chunk += R"("role":"assistant","content":"")";
  } else if (envelope_.continues_content) {
    chunk += R"("role":"assistant","content":"","reasoning_content":null)";
  } else {
    chunk += R"("role":"assistant","content":null,"reasoning_content":"")";
  }
  return end(std::move(chunk), {}, {});
}

std::string ChunkWriter::delta(int32_t choice, const MessageDelta& delta, bool first,
                               std::string_view call_id, std::string_view logprobs) const {
  const bool lean = policy_.lean_deltas;
  std::string chunk = begin(choice);
  if (first && lean) {
    chunk += R"("role":"assistant",)";
  }
  std::string entries;
  switch (delta.kind) {
    case MessageDelta::Kind::kContent:
      append_member("content", delta.text, chunk);
      if (envelope_.thinking && !lean) {
        chunk += R"(,"reasoning_content":null)";
      }
      entries = R"({"content":[)";
      break;
    case MessageDelta::Kind::kReasoning:
      if (!lean) {
        chunk += R"("content":null,)";
      }
      append_reasoning(envelope_, delta.text, chunk);
      entries = lean ? R"({"content":null,"reasoning_content":[)" : R"({"reasoning_content":[)";
      break;
    case MessageDelta::Kind::kCallBegin:
      chunk += R"("tool_calls":[{"index":)" + std::to_string(delta.call_index) + ',';
      append_member("id", call_id, chunk);
      chunk += R"(,"type":"function","function":{)";
      append_member("name", delta.text, chunk);
      chunk += R"(,"arguments":""}}])";
      break;
    case MessageDelta::Kind::kCallArguments:
      chunk += R"("tool_calls":[{"index":)" + std::to_string(delta.call_index) + R"(,"function":{)";
      append_member("arguments", delta.text, chunk);
      chunk += "}}]";
      break;
    case MessageDelta::Kind::kCallEnd:
      break;
  }
  if (logprobs.empty()) {
    entries.clear();
  } else {
    entries += logprobs;
    entries += "]}";
  }
  return end(std::move(chunk), entries, {});
}

std::string ChunkWriter::finish(int32_t choice, std::string_view reason, bool first,
                                const ChatUsage* usage) const {
  std::string chunk = begin(choice);
  if (!policy_.lean_deltas) {
    chunk += envelope_.thinking ? R"("content":"","reasoning_content":null)" : R"("content":"")";
  } else if (first) {
    chunk += R"("role":"assistant","content":"")";
  }
  chunk = end(std::move(chunk), {}, reason);
  return chunk + tail(usage == nullptr ? std::string() : usage_json(*usage));
}

std::string ChunkWriter::with_usage(std::string chunk, const ChatUsage& usage) {
  chunk.pop_back();  // the brace that closes the chunk
  return std::move(chunk) + R"(,"usage":)" + usage_json(usage) + '}';
}

std::string ChunkWriter::usage(const ChatUsage& usage) const {
  return prefix_ + tail(usage_json(usage));
}

namespace {

void append_message(const ChatMessageText& message, const ChatEnvelope& envelope, bool lean,
                    std::string& out) {
  const bool shows_reasoning = envelope.thinking && !envelope.continues_content;
  out += R"({"role":"assistant",)";
  append_member("content", message.content, out);
  if (shows_reasoning || !message.reasoning.empty()) {
    out += ',';
    append_reasoning(envelope, message.reasoning, out);
  }
  bool any = false;
  for (size_t i = 0; i < message.calls.size(); ++i) {
    const MessageCall& call = message.calls[i];
    if (lean && !call.complete) {
      continue;  // cut by the limit: half a call helps nobody
    }
    out += any ? ",{" : R"(,"tool_calls":[{)";
    any = true;
    if (!lean) {
      out += R"("index":)" + std::to_string(i) + ',';
    }
    append_member("id", call.id, out);
    out += R"(,"type":"function","function":{)";
    append_member("name", call.name, out);
    out += ',';
    append_member("arguments", call.arguments, out);
    out += "}}";
  }
  out += any ? "]}" : "}";
}

void append_logprobs(const ChatMessageText& message, bool lean, std::string& out) {
  if (!message.any_logprobs) {
    out += "null";
    return;
  }
  out += '{';
  const bool content = lean || !message.content_logprobs.empty();
  if (content) {
    out += R"("content":[)" + message.content_logprobs + ']';
  }
  if (!message.reasoning_logprobs.empty()) {
    out += content ? "," : "";
    out += R"("reasoning_content":[)" + message.reasoning_logprobs + ']';
  }
  out += '}';
}

}  // namespace

std::string ChunkWriter::response(const std::vector<const ChatMessageText*>& choices,
                                  const ChatUsage& usage) const {
  std::string out;
  append_head(envelope_, "chat.completion", out);
  out += R"("choices":[)";
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChatMessageText& message = *choices[i];
    out += i == 0 ? "" : ",";
    out += R"({"index":)" + std::to_string(i) + R"(,"message":)";
    append_message(message, envelope_, policy_.lean_deltas, out);
    out += R"(,"logprobs":)";
    append_logprobs(message, policy_.lean_deltas, out);
    out += R"(,"finish_reason":)";
    if (message.finish_reason.empty()) {
      out += "null";
    } else {
      append_json_string(message.finish_reason, out);
    }
    out += '}';
  }
  out += R"(],"usage":)" + usage_json(usage) + ',';
  append_fingerprint(envelope_, out);
  out += '}';
  return out;
}

}  // namespace deepinfer::protocol
