#include "protocol/messages/messages_history.h"

#include <set>
#include <string_view>
#include <utility>

#include "protocol/conversion_steps.h"
#include "protocol/messages/messages_images.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::ChatMessage;
using recipe::Role;
using Block = MessagesBlock;
using Kind = MessagesBlock::Kind;

constexpr std::string_view kUnsupportedImage = "[Unsupported Image]";

/// `messages.1`, as this protocol writes places.
std::string place_of(size_t message) {
  return "messages." + std::to_string(message);
}

std::string place_of(size_t message, size_t block) {
  return place_of(message) + ".content." + std::to_string(block);
}

Status refuse(size_t message, std::string what) {
  return refuse_member(item_of("messages", message), std::move(what));
}

/// An empty line in front of a part, unless it is the first.
void separate(bool first, std::string& text) {
  text += first ? "" : "\n\n";
}

/// In which role a block may stand; the words of the error differ by kind.
struct PlaceRule {
  Kind kind;
  Role role;
  std::string_view problem;
};
constexpr PlaceRule kPlaceRules[] = {
    {Kind::kThinking, Role::kAssistant,
     ".content: thinking blocks may only be in `assistant` messages"},
    {Kind::kRedactedThinking, Role::kAssistant,
     ".content: thinking blocks may only be in `assistant` messages"},
    {Kind::kToolUse, Role::kAssistant, ": `tool_use` blocks can only be in `assistant` messages"},
    {Kind::kServerToolUse, Role::kAssistant,
     ": `tool_use` blocks can only be in `assistant` messages"},
    {Kind::kWebSearchResult, Role::kAssistant,
     ": `web_search_tool_result` blocks can only be in `assistant` messages"},
    {Kind::kToolResult, Role::kUser, ": `tool_result` blocks can only be in `user` messages"},
    {Kind::kToolAddition, Role::kSystem,
     ": `tool_addition` blocks can only be in `system` messages"},
};

/// Reads the messages one by one, keeping the calls that still wait for their results.
class HistoryReader {
 public:
  explicit HistoryReader(const HistoryContext& context) : context_(context) {}

  Result<std::vector<HistoryTurn>> read(const std::vector<MessagesMessage>& messages) {
    for (index_ = 0; index_ < messages.size(); ++index_) {
      DI_TRY(read_one(messages[index_]));
    }
    if (!waiting_.empty()) {
      return refuse(messages.size() - 1, unanswered(place_of(messages.size() - 1) + ":"));
    }
    return std::move(turns_);
  }

 private:
  Status read_one(const MessagesMessage& message) {
    if (message.role == Role::kUser) {
      return read_user(message.content);
    }
    if (!waiting_.empty()) {
      return refuse(index_, unanswered(place_of(index_) + ": "));
    }
    return message.role == Role::kAssistant ? read_assistant(message.content)
                                            : read_system(message.content);
  }

  /// Calls without a result; `place` ends as the place of the check wants it.
  std::string unanswered(std::string place) const {
    std::string ids;
    for (const std::string& id : waiting_) {
      ids += (ids.empty() ? "" : ", ") + id;
    }
    return std::move(place) +
           "`tool_use` ids were found without `tool_result` blocks immediately after: " + ids +
           ". Each `tool_use` block must have a corresponding `tool_result` block in the next "
           "message.";
  }

  Status check_place(const Block& block, Role role) const {
    for (const PlaceRule& rule : kPlaceRules) {
      if (rule.kind == block.kind && rule.role != role) {
        return refuse(index_, place_of(index_).append(rule.problem));
      }
    }
    return Status::ok();
  }

  Status check_not_empty(const std::vector<Block>& blocks) const {
    return blocks.empty()
               ? refuse(index_, place_of(index_) + ": all messages must have non-empty content")
               : Status::ok();
  }

  // ----------------------------------------------------------------------- user messages

  /// Each block is a message of its own; results come first.
  Status read_user(const std::vector<Block>& blocks) {
    DI_TRY(check_not_empty(blocks));
    answered_.clear();
    std::vector<std::string> added;
    for (size_t i = 0; i < blocks.size(); ++i) {
      DI_TRY(check_place(blocks[i], Role::kUser));
      if (blocks[i].kind == Kind::kToolResult) {
        DI_TRY(read_result(blocks[i], i, added));
        continue;
      }
      if (!waiting_.empty()) {
        return refuse(index_, unanswered(place_of(index_) + ": "));
      }
      ChatMessage message{.role = Role::kUser};
      const std::string place = item_of(place_of(index_) + ".content", i);
      DI_TRY(append_content(blocks[i], place, place, message));
      turns_.push_back({.message = std::move(message)});
    }
    if (!waiting_.empty()) {
      return refuse(index_, unanswered(place_of(index_ - 1) + ":"));
    }
    declare(std::move(added));
    return Status::ok();
  }

  /// Tools that results referred to are declared behind the message, in a turn of their own.
  void declare(std::vector<std::string> added) {
    if (added.empty() || context_.encoding == recipe::Encoding::kV4) {
      return;
    }
    turns_.push_back({.message = {.role = Role::kSystem},
                      .added_tools = std::move(added),
                      .only_for_tools = true});
  }

  Status read_result(const Block& block, size_t block_index, std::vector<std::string>& added) {
    if (waiting_.erase(block.id) == 0) {
      return answered_.count(block.id) != 0
                 ? refuse(index_, place_of(index_, block_index) +
                                      ": each tool_use must have a single result. Found multiple "
                                      "`tool_result` blocks with id: " +
                                      block.id)
                 : refuse(index_, "unexpected `" + place_of(index_, block_index) +
                                      ": tool_use_id` found in `tool_result` blocks: " + block.id +
                                      ". Each `tool_result` block must have a corresponding "
                                      "`tool_use` block in the previous message.");
    }
    answered_.insert(block.id);
    for (const Block& part : block.content) {
      if (part.kind == Kind::kToolReference) {
        if (!is_tool(part.name)) {
          return refuse(index_, place_of(index_, block_index) + ": tool reference '" + part.name +
                                    "' not found in available tools");
        }
        added.push_back(part.name);
      }
    }
    return read_result_content(block, place_of(index_, block_index) + ".tool_result");
  }

  Status read_result_content(const Block& block, const std::string& path) {
    ChatMessage message{.role = Role::kTool, .tool_call_id = block.id};
    for (size_t i = 0; i < block.content.size(); ++i) {
      separate(i == 0, message.content);
      DI_TRY(append_content(block.content[i], path, item_of(path + ".content", i), message));
    }
    turns_.push_back({.message = std::move(message)});
    return Status::ok();
  }

  // ----------------------------------------------------------------------- other messages

  Status read_assistant(const std::vector<Block>& blocks) {
    DI_TRY(check_not_empty(blocks));
    HistoryTurn turn{.message = {.role = Role::kAssistant}};
    std::string thinking;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = blocks[i];
      DI_TRY(check_place(block, Role::kAssistant));
      switch (block.kind) {
        case Kind::kThinking:
          separate(!turn.has_thinking, thinking);
          thinking += block.text;
          turn.has_thinking = true;
          break;
        case Kind::kRedactedThinking:
          break;  // nobody but its provider can read it
        case Kind::kToolUse:
          DI_TRY(add_call(block, i, turn.message));
          break;
        case Kind::kServerToolUse:
        case Kind::kWebSearchResult:
          DI_TRY(check_server_tool());
          break;
        default:
          DI_TRY(add_answer_part(block, i, turn.message));
      }
    }
    if (context_.thinking) {
      turn.message.reasoning_content = std::move(thinking);
    }
    turns_.push_back(std::move(turn));
    return Status::ok();
  }

  Status add_call(const Block& block, size_t block_index, ChatMessage& message) {
    if (!waiting_.insert(block.id).second) {
      return refuse(index_, place_of(index_, block_index) + ": `tool_use` ids must be unique");
    }
    recipe::ToolCall call{.id = block.id, .name = block.name};
    recipe::append_json(block.input, recipe::JsonStyle::kSpacedV4, call.arguments);
    message.tool_calls.push_back(std::move(call));
    return Status::ok();
  }

  Status check_server_tool() const {
    return context_.drop_server_tools
               ? Status::ok()
               : refuse(index_, "Unsupported content block: server tools are not supported");
  }

  /// Text, documents and images; none of them may follow a call.
  Status add_answer_part(const Block& block, size_t block_index, ChatMessage& message) {
    if (!waiting_.empty()) {
      return refuse(index_,
                    unanswered(place_of(index_) + "." + std::to_string(block_index) + ": "));
    }
    separate(message.content.empty(), message.content);
    const std::string place = item_of(place_of(index_) + ".content", block_index);
    DI_TRY(append_content(block, place, place, message));
    return message.images.empty() ? Status::ok()
                                  : refuse(index_, "Image in assistant message is unsupported");
  }

  Status read_system(const std::vector<Block>& blocks) {
    HistoryTurn turn{.message = {.role = Role::kSystem}};
    bool first = true;
    for (size_t i = 0; i < blocks.size(); ++i) {
      DI_TRY(check_place(blocks[i], Role::kSystem));
      if (blocks[i].kind == Kind::kToolAddition) {
        if (!is_tool(blocks[i].name)) {
          return refuse(index_, place_of(index_, i) +
                                    ": `tool_addition` references unknown tool '" + blocks[i].name +
                                    "'");
        }
        turn.added_tools.push_back(blocks[i].name);
        continue;
      }
      separate(first, turn.message.content);
      first = false;
      DI_TRY(append_content(blocks[i], place_of(index_), item_of(place_of(index_) + ".content", i),
                            turn.message));
    }
    if (context_.encoding == recipe::Encoding::kV4) {
      add_reminder(std::move(turn.message.content));
    } else {
      turn.only_for_tools = !turn.added_tools.empty() && turn.message.content.empty();
      turns_.push_back(std::move(turn));
    }
    return Status::ok();
  }

  /// V4 has no system turns behind its first one.
  void add_reminder(std::string text) {
    if (!text.empty()) {
      turns_.push_back({.message = {.role = Role::kUser,
                                    .content = "<system-reminder>\n" + std::move(text) +
                                               "\n</system-reminder>"}});
    }
  }

  // ----------------------------------------------------------------------- content

  /// Appends text, a document, a reference or an image. `path` is where an image says it came
  /// from, `place` where an error does.
  Status append_content(const Block& block, const std::string& path, const std::string& place,
                        ChatMessage& message) const {
    switch (block.kind) {
      case Kind::kImage:
        return append_image(block, path, place, message);
      case Kind::kDocument:
        return append_document(block, place, message);
      case Kind::kToolReference:
        message.content += block.name;
        return Status::ok();
      default:
        message.content += block.text;
        return Status::ok();
    }
  }

  Status append_image(const Block& block, const std::string& path, const std::string& place,
                      ChatMessage& message) const {
    DI_TRY(check_readable("images", place));
    if (context_.encoding == recipe::Encoding::kV4) {
      message.content += kUnsupportedImage;
      return Status::ok();
    }
    DI_ASSIGN(recipe::ImageSource image, read_messages_image(block.image, path, place));
    image.offset = message.content.size();
    message.images.push_back(std::move(image));
    return Status::ok();
  }

  Status append_document(const Block& block, const std::string& place, ChatMessage& message) const {
    if (block.has_text) {
      message.content += block.text;
      return Status::ok();
    }
    DI_TRY(check_readable("documents that are not plain text", place));
    message.content += "[Unsupported document type: " + block.media_type.value_or("unknown") + "]";
    return Status::ok();
  }

  Status check_readable(const std::string& what, const std::string& place) const {
    return context_.policy.refuse_images
               ? invalid_argument(place + ": " + what +
                                  " are not supported by this version of the server; only text is")
                     .with_param(place)
                     .with_reason("unsupported_content")
               : Status::ok();
  }

  bool is_tool(const std::string& name) const { return context_.tool_names.count(name) != 0; }

  const HistoryContext& context_;
  std::vector<HistoryTurn> turns_;
  size_t index_ = 0;
  /// Calls of the latest assistant message without a result so far.
  std::set<std::string> waiting_;
  /// Those that the present message answered.
  std::set<std::string> answered_;
};

}  // namespace

Result<std::vector<HistoryTurn>> convert_history(const std::vector<MessagesMessage>& messages,
                                                 const HistoryContext& context) {
  if (messages.empty()) {
    return refuse_member("messages", "messages: at least one message is required");
  }
  return HistoryReader(context).read(messages);
}

}  // namespace deepinfer::protocol
