#include "protocol/responses/input_turns.h"

#include <algorithm>
#include <utility>

#include "protocol/image_parts.h"

namespace deepinfer::protocol {
namespace {

using Kind = InputItem::Kind;
using recipe::ChatMessage;
using recipe::Role;

constexpr std::string_view kUnsupportedImage = "[Unsupported Image]";
constexpr std::string_view kUnsupportedDocument = "[Unsupported Document]";

std::string place_of(size_t index) {
  return item_of("input", index);
}

void append_joined(std::string_view text, std::string_view separator, std::string& target) {
  if (text.empty()) {
    return;
  }
  if (!target.empty()) {
    target += separator;
  }
  target += text;
}

}  // namespace

Status InputTurns::add(const InputItem& item, size_t index) {
  // V4 knows no tools that are declared later, hence no searches for them.
  const bool searches = job_.out.encoding != recipe::Encoding::kV4;
  switch (item.kind) {
    case Kind::kMessage:
      DI_TRY(nothing_waits());
      return add_message(item, index);
    case Kind::kReasoning:
      DI_TRY(nothing_waits());
      add_reasoning(item);
      return Status::ok();
    case Kind::kFunctionCall:
    case Kind::kCustomCall:
      return add_call(item, index);
    case Kind::kSearchCall:
      return searches ? add_call(item, index) : Status::ok();
    case Kind::kOutput:
      return add_output(item, index);
    case Kind::kSearchOutput:
      return searches ? add_output(item, index) : Status::ok();
    case Kind::kWebSearchCall:
      return nothing_waits();
    case Kind::kUnknown:
      return Status::ok();
  }
  return Status::ok();
}

Status InputTurns::finish() {
  DI_TRY(nothing_waits());
  end_turn();
  return Status::ok();
}

Status InputTurns::nothing_waits() const {
  if (waiting_.empty()) {
    return Status::ok();
  }
  const auto first = std::find_if(calls_.begin(), calls_.end(),
                                  [this](const std::string& id) { return waiting_.count(id) > 0; });
  return refuse_member("input", "No tool output found for tool call " + *first + ".");
}

// ------------------------------------------------------------------------- turns

ChatMessage& InputTurns::turn() {
  if (!turn_) {
    turn_ = messages().size();
    ChatMessage& message = messages().emplace_back();
    message.role = Role::kAssistant;
    if (job_.out.conversation.thinking_mode) {
      message.reasoning_content = std::string();
    }
  }
  return messages()[*turn_];
}

void InputTurns::end_turn() {
  if (!turn_) {
    return;
  }
  if (!job_.policy.calls_in_order) {
    auto& calls = messages()[*turn_].tool_calls;
    std::sort(calls.begin(), calls.end(),
              [](const recipe::ToolCall& a, const recipe::ToolCall& b) { return a.id < b.id; });
  }
  turn_.reset();
  for (std::vector<std::string>& names : found_) {
    updates_.push_back({.message = messages().size(), .tools = std::move(names)});
    messages().emplace_back().role = Role::kSystem;
  }
  found_.clear();
}

Status InputTurns::add_message(const InputItem& item, size_t index) {
  if (item.role == InputRole::kAssistant) {
    ChatMessage part{.role = Role::kAssistant};
    DI_TRY(join_parts(item, index, "content", part));
    append_joined(part.content, "\n\n", turn().content);
    return Status::ok();
  }
  end_turn();
  const bool instructs =
      item.role == InputRole::kSystem ||
      (item.role == InputRole::kDeveloper && job_.out.encoding != recipe::Encoding::kV4);
  ChatMessage message{.role = instructs ? Role::kSystem : Role::kUser};
  DI_TRY(join_parts(item, index, "content", message));
  messages().push_back(std::move(message));
  return Status::ok();
}

/// Reasoning without a word opens no turn.
void InputTurns::add_reasoning(const InputItem& item) {
  std::string text;
  for (size_t i = 0; i < item.reasoning.size(); ++i) {
    text += i == 0 ? "" : "\n";
    text += item.reasoning[i];
  }
  if (text.empty()) {
    return;
  }
  if (turn_ && !messages()[*turn_].content.empty()) {
    end_turn();
  }
  ChatMessage& message = turn();
  if (message.reasoning_content) {
    append_joined(text, "\n", *message.reasoning_content);
  }
}

// ------------------------------------------------------------------------- calls

Status InputTurns::check_call_id(const InputItem& item, size_t index) const {
  if (!item.call_id->empty()) {
    return Status::ok();
  }
  const std::string member = place_of(index) + ".call_id";
  return refuse_member(member, "Invalid '" + member +
                                   "': empty string. Expected a string with minimum length 1, but "
                                   "got an empty string instead.");
}

Status InputTurns::add_call(const InputItem& item, size_t index) {
  DI_TRY(check_call_id(item, index));
  if (!call_ids_.insert(*item.call_id).second) {
    return refuse_member(place_of(index) + ".call_id",
                         "Duplicate 'call_id': " + *item.call_id + ".");
  }
  calls_.push_back(*item.call_id);
  waiting_.insert(*item.call_id);
  std::string name = item.kind == Kind::kSearchCall ? std::string(kToolSearch) : item.name;
  if (item.space) {
    name = names_.called(*item.space, item.name);
  }
  turn().tool_calls.push_back({*item.call_id, std::move(name), item.arguments});
  return Status::ok();
}

Status InputTurns::add_output(const InputItem& item, size_t index) {
  ChatMessage message{.role = Role::kTool, .tool_call_id = item.call_id};
  const bool searched = item.kind == Kind::kSearchOutput;
  const bool of_function = item.type == "function_call_output";
  if (of_function) {  // the only output whose content is looked at before its call
    DI_TRY(join_parts(item, index, "output", message));
  }
  if (item.call_id) {
    DI_TRY(answer(item, index));
  } else {
    // The result of a call that nobody made stands by itself.
    DI_TRY(nothing_waits());
    end_turn();
  }
  if (searched) {
    message.content = flat_tools_json(item.tools);
  } else if (!of_function) {
    DI_TRY(join_parts(item, index, "output", message));
  }
  messages().push_back(std::move(message));
  // What a search found is still to be told.
  if (!searched && waiting_.empty()) {
    end_turn();
  }
  return Status::ok();
}

Status InputTurns::answer(const InputItem& item, size_t index) {
  DI_TRY(check_call_id(item, index));
  const std::string member = place_of(index) + ".call_id";
  if (waiting_.erase(*item.call_id) > 0) {
    if (waiting_.empty()) {
      calls_.clear();
    }
    return Status::ok();
  }
  return refuse_member(
      member, call_ids_.count(*item.call_id) > 0
                  ? "Duplicate tool output for call_id: " + *item.call_id + "."
                  : "No tool call found for tool output with call_id " + *item.call_id + ".");
}

void InputTurns::declare_found(std::vector<std::string> names) {
  if (!names.empty()) {
    found_.push_back(std::move(names));
  }
  if (waiting_.empty()) {
    end_turn();
  }
}

// ------------------------------------------------------------------------- content

Status InputTurns::check_part(const InputPart& part, const std::string& place) const {
  if (part.kind == InputPart::Kind::kText) {
    return Status::ok();
  }
  if (job_.policy.refuse_images) {
    return invalid_argument("`" + place +
                            "`: images and files are not supported by this version of the "
                            "server; only text parts are")
        .with_param(place)
        .with_reason("unsupported_content");
  }
  if (part.kind == InputPart::Kind::kFile || job_.out.encoding == recipe::Encoding::kV4) {
    return Status::ok();
  }
  const bool has_url = part.image_url && !part.image_url->empty();
  if (has_url && part.file_id) {
    return refuse_member(place, place + ": input_image cannot have both image_url and file_id");
  }
  if (part.file_id) {
    return refuse_member(place, place +
                                    ": file_id is not supported. Pass the image as a base64 "
                                    "data url instead.");
  }
  return has_url ? Status::ok()
                 : refuse_member(place, place + ": input_image must have image_url or file_id");
}

Status InputTurns::join_parts(const InputItem& item, size_t index, const char* member,
                              ChatMessage& target) const {
  const std::string list = place_of(index) + "." + member;
  for (size_t i = 0; i < item.content.size(); ++i) {
    DI_TRY(check_part(item.content[i], item_of(list, i)));
  }
  for (size_t i = 0; i < item.content.size(); ++i) {
    const InputPart& part = item.content[i];
    target.content += i == 0 ? "" : "\n\n";
    switch (part.kind) {
      case InputPart::Kind::kText:
        target.content += part.text;
        break;
      case InputPart::Kind::kFile:
        target.content += kUnsupportedDocument;
        break;
      case InputPart::Kind::kImage:
        DI_TRY(add_image(part, index, item_of(list, i), target));
        break;
    }
  }
  return Status::ok();
}

Status InputTurns::add_image(const InputPart& part, size_t index, const std::string& place,
                             ChatMessage& target) const {
  if (job_.out.encoding == recipe::Encoding::kV4) {
    target.content += kUnsupportedImage;
    return Status::ok();
  }
  if (target.role == Role::kAssistant) {
    return refuse_member(place, place_of(index) + ": Image in assistant message is unsupported");
  }
  DI_ASSIGN(recipe::ImageSource image,
            read_image_url(*part.image_url, {.path = place_of(index), .param = place}));
  image.detail = part.detail;
  image.offset = target.content.size();
  target.images.push_back(std::move(image));
  return Status::ok();
}

}  // namespace deepinfer::protocol
