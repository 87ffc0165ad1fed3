#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "recipe/encodings.h"
#include "recipe/prompt_writer.h"

namespace deepinfer::recipe {
namespace {

/// Walks the messages once; each function writes one kind of turn.
class V41Renderer {
 public:
  V41Renderer(const Conversation& conversation, std::string_view image_token)
      : conversation_(conversation), out_(Encoding::kV41, conversation, image_token) {}

  RenderedPrompt render();

 private:
  using Messages = std::vector<ChatMessage>;

  const Messages& messages() const { return conversation_.messages; }
  bool is(size_t i, Role role) const { return i < messages().size() && messages()[i].role == role; }
  bool in_user_turn(size_t i) const { return is(i, Role::kUser) || is(i, Role::kTool); }

  /// Each returns the index of the first message it did not use.
  size_t lead();
  size_t turn(size_t i);
  size_t user_turn(size_t begin);
  size_t reminder_turn(size_t begin);

  void system_turn(const ChatMessage& message);
  void assistant_turn(const ChatMessage& message);
  void prefix_turn(const ChatMessage& message);
  std::vector<const ChatMessage*> ordered_results(size_t begin, size_t end) const;

  const Conversation& conversation_;
  PromptWriter out_;
  /// By id: its place among the calls of the latest assistant message with calls.
  std::unordered_map<std::string_view, size_t> call_places_;
};

size_t V41Renderer::lead() {
  const bool has_system = is(0, Role::kSystem);
  // Without messages effort alone makes no lead.
  const bool has_effort = !messages().empty() && !out_.effort().empty();
  if (!has_system && !has_effort && !out_.has_tail()) return 0;
  out_.special(spelling::kSystem);
  out_.fixed(out_.effort());
  if (has_system) out_.message_text(messages()[0]);
  out_.tail();
  if (has_system) out_.updated_tools(messages()[0].tools);
  return has_system ? 1 : 0;
}

void V41Renderer::system_turn(const ChatMessage& message) {
  out_.special(spelling::kSystem);
  out_.message_text(message);
  out_.updated_tools(message.tools);
}

/// The tool results of a run in the order of their calls; those that name no call keep their
/// places. Results of an unknown call count as the first call's, as in the reference;
/// conversion refuses such conversations.
std::vector<const ChatMessage*> V41Renderer::ordered_results(size_t begin, size_t end) const {
  std::vector<const ChatMessage*> results;
  for (size_t i = begin; i < end; ++i) {
    if (is(i, Role::kTool)) results.push_back(&messages()[i]);
  }
  const auto place = [&](const ChatMessage* message) {
    const auto found = call_places_.find(*message->tool_call_id);
    return found == call_places_.end() ? size_t{0} : found->second;
  };
  std::vector<const ChatMessage*> named;
  std::copy_if(results.begin(), results.end(), std::back_inserter(named),
               [](const auto* message) { return message->tool_call_id.has_value(); });
  std::stable_sort(named.begin(), named.end(),
                   [&](const auto* a, const auto* b) { return place(a) < place(b); });
  auto next = named.begin();
  for (const ChatMessage*& result : results) {
    if (result->tool_call_id) result = *next++;
  }
  return results;
}

size_t V41Renderer::user_turn(size_t begin) {
  size_t end = begin;
  while (in_user_turn(end)) ++end;
  const auto results = ordered_results(begin, end);
  auto next_result = results.begin();
  out_.special(spelling::kUser);
  for (size_t i = begin; i < end; ++i) {
    if (i > begin) out_.text("\n\n");
    if (is(i, Role::kUser)) {
      out_.message_text(messages()[i]);
    } else {
      out_.tool_result(**next_result++);
    }
  }
  return end;
}

size_t V41Renderer::reminder_turn(size_t begin) {
  out_.special(spelling::kLatestReminder);
  out_.message_text(messages()[begin]);
  size_t end = begin;
  while (is(end, Role::kLatestReminder)) ++end;
  return end;
}

void V41Renderer::assistant_turn(const ChatMessage& message) {
  out_.special(spelling::kAssistant);
  if (conversation_.thinking_mode && out_.tools_in_use()) {
    out_.special(spelling::kThinkStart);
    out_.text(message.reasoning_content.value_or(""));
  }
  out_.special(spelling::kThinkEnd);
  out_.message_text(message);
  std::vector<const ToolCall*> calls;
  if (!message.tool_calls.empty()) {
    call_places_.clear();
  }
  for (const ToolCall& call : message.tool_calls) {
    call_places_.insert_or_assign(call.id, calls.size());
    calls.push_back(&call);
  }
  out_.tool_calls(calls);
  out_.special(spelling::kEos);
}

void V41Renderer::prefix_turn(const ChatMessage& message) {
  // A conversation of nothing but a prefix counts as not thinking (recipe spec §12).
  const bool thinking = conversation_.thinking_mode && messages().size() > 1;
  out_.special(spelling::kAssistant);
  if (thinking) {
    out_.special(spelling::kThinkStart);
    out_.text(message.reasoning_content.value_or(""));
  }
  if (!thinking || !message.content.empty()) out_.special(spelling::kThinkEnd);
  out_.message_text(message);
}

size_t V41Renderer::turn(size_t i) {
  if (in_user_turn(i)) return user_turn(i);
  if (is(i, Role::kLatestReminder)) return reminder_turn(i);
  if (is(i, Role::kSystem)) {
    system_turn(messages()[i]);
  } else {
    assistant_turn(messages()[i]);
  }
  return i + 1;
}

RenderedPrompt V41Renderer::render() {
  out_.special(spelling::kBos);
  const bool continues = !messages().empty() && messages().back().prefix;
  const size_t num_turns = messages().size() - (continues ? 1 : 0);
  for (size_t i = lead(); i < num_turns;) i = turn(i);
  if (continues) {
    prefix_turn(messages().back());
  } else {
    out_.open_turn();
  }
  out_.required_tool_choice();
  return out_.take();
}

}  // namespace

RenderedPrompt render_v41(const Conversation& conversation, std::string_view image_token) {
  return V41Renderer(conversation, image_token).render();
}

}  // namespace deepinfer::recipe
