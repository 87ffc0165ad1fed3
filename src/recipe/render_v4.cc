#include <algorithm>
#include <tuple>
#include <vector>

#include "recipe/encodings.h"
#include "recipe/prompt_writer.h"

namespace deepinfer::recipe {
namespace {

/// What becomes one part of a turn: a message or, of users, adjacent ones.
struct Part {
  Role role = Role::kUser;
  std::vector<const ChatMessage*> messages;

  const ChatMessage& message() const { return *messages.front(); }
};

/// Walks the parts once; each function writes one kind of turn.
class V4Renderer {
 public:
  V4Renderer(const Conversation& conversation, std::string_view image_token);

  RenderedPrompt render();

 private:
  bool is(size_t i, Role role) const { return i < parts_.size() && parts_[i].role == role; }

  void add_part(const ChatMessage& message);
  void sort_results();

  void lead();
  /// Both return the index of the first part they did not use.
  size_t turn(size_t i);
  size_t user_turn(size_t begin);

  void texts(const std::vector<const ChatMessage*>& messages);
  void assistant_turn(const ChatMessage& message);
  void prefix_turn(const ChatMessage& message);

  const Conversation& conversation_;
  PromptWriter out_;
  std::vector<const ChatMessage*> systems_;
  std::vector<Part> parts_;
};

V4Renderer::V4Renderer(const Conversation& conversation, std::string_view image_token)
    : conversation_(conversation), out_(Encoding::kV4, conversation, image_token) {
  for (const ChatMessage& message : conversation.messages) add_part(message);
  sort_results();
}

void V4Renderer::add_part(const ChatMessage& message) {
  if (message.role == Role::kSystem) {
    systems_.push_back(&message);
  } else if (message.role == Role::kUser && !parts_.empty() && is(parts_.size() - 1, Role::kUser)) {
    parts_.back().messages.push_back(&message);
  } else {
    parts_.push_back({.role = message.role, .messages = {&message}});
  }
}

/// Behind k calls stand their k results: these come in byte order of their ids. (Should other
/// parts stand there, which conversion refuses, the results move before them.)
void V4Renderer::sort_results() {
  const auto key = [](const Part& part) {
    const bool is_result = part.role == Role::kTool;
    const auto& id = part.message().tool_call_id;
    return std::tuple(!is_result, is_result && id, is_result && id ? std::string_view(*id) : "");
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!is(i, Role::kAssistant)) continue;
    const size_t end = std::min(parts_.size(), i + 1 + parts_[i].message().tool_calls.size());
    std::stable_sort(parts_.begin() + static_cast<ptrdiff_t>(i + 1),
                     parts_.begin() + static_cast<ptrdiff_t>(end),
                     [&](const Part& a, const Part& b) { return key(a) < key(b); });
  }
}

/// Non-empty texts with an empty line between them.
void V4Renderer::texts(const std::vector<const ChatMessage*>& messages) {
  bool first = true;
  for (const ChatMessage* message : messages) {
    if (message->content.empty()) continue;
    if (!first) out_.text("\n\n");
    out_.message_text(*message);
    first = false;
  }
}

void V4Renderer::lead() {
  out_.special(spelling::kBos);
  out_.fixed(out_.effort());
  texts(systems_);
  out_.tail();
}

size_t V4Renderer::user_turn(size_t begin) {
  out_.special(spelling::kUser);
  size_t i = begin;
  for (; is(i, Role::kTool); ++i) {
    if (i > begin) out_.text("\n\n");
    out_.tool_result(parts_[i].message());
  }
  if (!is(i, Role::kUser)) return i;
  if (i > begin) out_.text("\n\n");
  texts(parts_[i].messages);
  return i + 1;
}

void V4Renderer::assistant_turn(const ChatMessage& message) {
  out_.special(spelling::kAssistant);
  if (out_.tools_in_use() && message.reasoning_content) {
    out_.special(spelling::kThinkStart);
    out_.text(*message.reasoning_content);
  }
  out_.special(spelling::kThinkEnd);
  out_.message_text(message);
  std::vector<const ToolCall*> calls;
  for (const ToolCall& call : message.tool_calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto* a, const auto* b) { return a->id < b->id; });
  out_.tool_calls(calls);
  out_.special(spelling::kEos);
}

void V4Renderer::prefix_turn(const ChatMessage& message) {
  out_.special(spelling::kAssistant);
  if (message.reasoning_content) {
    out_.special(spelling::kThinkStart);
    out_.text(*message.reasoning_content);
  }
  const bool still_thinking = conversation_.thinking_mode && message.content.empty();
  if (!still_thinking) out_.special(spelling::kThinkEnd);
  out_.message_text(message);
}

size_t V4Renderer::turn(size_t i) {
  if (is(i, Role::kUser) || is(i, Role::kTool)) return user_turn(i);
  if (is(i, Role::kLatestReminder)) {
    out_.special(spelling::kLatestReminder);
    out_.message_text(parts_[i].message());
  } else {
    assistant_turn(parts_[i].message());
  }
  return i + 1;
}

RenderedPrompt V4Renderer::render() {
  lead();
  const bool continues = !parts_.empty() && parts_.back().message().prefix;
  const size_t num_parts = parts_.size() - (continues ? 1 : 0);
  for (size_t i = 0; i < num_parts;) i = turn(i);
  if (continues) {
    prefix_turn(parts_.back().message());
  } else {
    out_.open_turn();
  }
  out_.required_tool_choice();
  return out_.take();
}

}  // namespace

RenderedPrompt render_v4(const Conversation& conversation, std::string_view image_token) {
  return V4Renderer(conversation, image_token).render();
}

}  // namespace deepinfer::recipe
