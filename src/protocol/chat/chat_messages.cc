#include "protocol/chat/chat_messages.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "protocol/conversion_steps.h"
#include "protocol/image_parts.h"

namespace deepinfer::protocol {
namespace {

using recipe::ChatMessage;
using recipe::Role;

constexpr std::string_view kUnsupportedImage = "[Unsupported Image]";

std::string message_param(size_t index) {
  return "messages[" + std::to_string(index) + "]";
}

Status refuse(size_t index, std::string message) {
  return invalid_argument(std::move(message)).with_param(message_param(index));
}

constexpr std::string_view kUnanswered =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'";

/// Reads the messages one by one, keeping the calls that still wait for their results.
class MessageReader {
 public:
  explicit MessageReader(const MessageContext& context) : context_(context) {}

  Result<std::vector<ChatMessage>> read(const std::vector<RequestMessage>& messages) {
    for (size_t i = 0; i < messages.size(); ++i) {
      DI_TRY(read_one(messages[i], i));
    }
    if (!waiting_.empty()) {
      return refuse(messages.size() - 1, insufficient());
    }
    for (size_t i = 0; i + 1 < messages.size(); ++i) {
      if (messages[i].prefix) {
        return refuse(i,
                      "Invalid completion message: prefix set true with message which is not final "
                      "message or message role is not assistant");
      }
    }
    return std::move(result_);
  }

 private:
  static std::string insufficient() {
    return std::string(kUnanswered) + ". (insufficient tool messages following tool_calls message)";
  }

  Status read_one(const RequestMessage& message, size_t index) {
    if (message.role == Role::kTool) {
      DI_TRY(answer_call(message.tool_call_id, index));
    } else if (!waiting_.empty()) {
      return refuse(index, insufficient());
    }
    ChatMessage converted{.role = message.role};
    if (message.role == Role::kAssistant) {
      DI_TRY(read_assistant(message, index, converted));
    }
    if (message.content) {
      DI_TRY(join_parts(*message.content, index, converted));
    }
    if (message.role == Role::kTool) {
      converted.tool_call_id = message.tool_call_id;
    }
    if (message.role != Role::kSystem || !converted.content.empty() || !converted.images.empty()) {
      result_.push_back(std::move(converted));
    }
    return Status::ok();
  }

  Status answer_call(const std::string& id, size_t index) {
    if (waiting_.empty()) {
      return refuse(index,
                    "Messages with role 'tool' must be a response to a preceding message with "
                    "'tool_calls'");
    }
    if (waiting_.erase(id) == 0) {
      return refuse(index,
                    std::string(kUnanswered) +
                        ", The following tool_call_ids did not have response messages: " + id);
    }
    return Status::ok();
  }

  Status read_assistant(const RequestMessage& message, size_t index, ChatMessage& converted) {
    if (!message.content && !message.tool_calls) {
      return refuse(index, "Invalid assistant message: content or tool_calls must be set");
    }
    if (message.tool_calls) {
      DI_TRY(read_calls(*message.tool_calls, index));
      converted.tool_calls = *message.tool_calls;
    }
    converted.prefix = message.prefix;
    if (context_.thinking) {
      converted.reasoning_content = message.reasoning_content.value_or("");
    }
    return Status::ok();
  }

  Status read_calls(const std::vector<recipe::ToolCall>& calls, size_t index) {
    const std::string where = message_param(index) + ".tool_calls";
    if (calls.empty()) {
      return invalid_argument("Invalid '" + where +
                              "': empty array. Expected an array with minimum length 1, but got "
                              "an empty array instead.")
          .with_param(where);
    }
    for (const recipe::ToolCall& call : calls) {
      if (!waiting_.insert(call.id).second) {
        return invalid_argument("Duplicate value for 'tool_call_id' of " + call.id +
                                " in message[" + std::to_string(index) + "]")
            .with_param(where);
      }
    }
    return Status::ok();
  }

  Status join_parts(const std::vector<ContentPart>& parts, size_t index, ChatMessage& converted) {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) {
        converted.content += "\n\n";
      }
      if (parts[i].kind == ContentPart::Kind::kText) {
        converted.content += parts[i].text;
      } else {
        DI_TRY(add_image(parts[i], index, i, converted));
      }
    }
    return Status::ok();
  }

  Status add_image(const ContentPart& part, size_t index, size_t part_index,
                   ChatMessage& converted) {
    if (context_.policy.refuse_images) {
      const std::string where =
          message_param(index) + ".content[" + std::to_string(part_index) + "]";
      return invalid_argument("`" + where +
                              "`: images and files are not supported by this version of the "
                              "server; only text parts are")
          .with_param(where)
          .with_reason("unsupported_content");
    }
    if (context_.encoding == recipe::Encoding::kV4) {
      converted.content += kUnsupportedImage;
      return Status::ok();
    }
    if (converted.role == Role::kAssistant) {
      return refuse(index, "Image in assistant message is not supported");
    }
    DI_ASSIGN(recipe::ImageSource image, read_image_part(part, index));
    image.offset = converted.content.size();
    converted.images.push_back(std::move(image));
    return Status::ok();
  }

  const MessageContext& context_;
  std::vector<ChatMessage> result_;
  /// Ids of the latest assistant message's calls without a result so far.
  std::set<std::string> waiting_;
};

}  // namespace

Result<std::vector<ChatMessage>> convert_messages(const std::vector<RequestMessage>& messages,
                                                  const MessageContext& context) {
  if (messages.empty()) {
    return invalid_argument("Empty input messages").with_param("messages");
  }
  return MessageReader(context).read(messages);
}

Status check_reasoning_passed_back(const std::vector<RequestMessage>& messages, bool has_tools) {
  std::vector<PastTurn> turns;
  turns.reserve(messages.size());
  for (const RequestMessage& message : messages) {
    turns.push_back({.role = message.role,
                     .has_reasoning = message.reasoning_content.has_value(),
                     .calls = message.tool_calls ? &*message.tool_calls : nullptr});
  }
  const auto missing = missing_reasoning(turns, has_tools);
  return missing ? refuse(*missing,
                          "The `reasoning_content` in the thinking mode must be passed back to "
                          "the API.")
                 : Status::ok();
}

bool mentions_json(const std::vector<RequestMessage>& messages) {
  for (const RequestMessage& message : messages) {
    if (!message.content) {
      continue;
    }
    for (const ContentPart& part : *message.content) {
      if (part.kind == ContentPart::Kind::kText && contains_json_word(part.text)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace deepinfer::protocol
