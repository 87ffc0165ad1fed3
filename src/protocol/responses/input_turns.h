#pragma once

/// Items of `input` → messages: reasoning, text and calls that belong together become one
/// assistant turn, and every call must have its output behind it.

#include <set>
#include <string>
#include <vector>

#include "protocol/conversion_steps.h"
#include "protocol/responses/tool_names.h"

namespace deepinfer::protocol {

class InputTurns {
 public:
  InputTurns(const ConversionJob& job, ToolNames& names) : job_(job), names_(names) {}

  /// `index` is the item's place in `input`.
  Status add(const InputItem& item, size_t index);
  /// The tools that a search found, by the names they are declared by. After its `add`.
  void declare_found(std::vector<std::string> names);
  /// After the last item.
  Status finish();

  /// Names of tools that a message of the conversation declares.
  struct Update {
    size_t message = 0;
    std::vector<std::string> tools;
  };
  const std::vector<Update>& updates() const { return updates_; }

 private:
  Status add_message(const InputItem& item, size_t index);
  void add_reasoning(const InputItem& item);
  Status add_call(const InputItem& item, size_t index);
  Status add_output(const InputItem& item, size_t index);
  Status answer(const InputItem& item, size_t index);
  /// Refuses an item between a call and its output.
  Status nothing_waits() const;
  Status check_call_id(const InputItem& item, size_t index) const;
  Status check_part(const InputPart& part, const std::string& place) const;
  Status join_parts(const InputItem& item, size_t index, const char* member,
                    recipe::ChatMessage& target) const;
  Status add_image(const InputPart& part, size_t index, const std::string& place,
                   recipe::ChatMessage& target) const;
  recipe::ChatMessage& turn();
  void end_turn();
  std::vector<recipe::ChatMessage>& messages() const { return job_.out.conversation.messages; }

  const ConversionJob& job_;
  ToolNames& names_;
  /// The assistant turn that is being put together is the message at this place.
  std::optional<size_t> turn_;
  /// Calls since the last time that all had their output, in order.
  std::vector<std::string> calls_;
  /// Those of `calls_` without an output.
  std::set<std::string> waiting_;
  /// Of calls answered or not.
  std::set<std::string> call_ids_;
  /// Found by searches of the turn.
  std::vector<std::vector<std::string>> found_;
  std::vector<Update> updates_;
};

}  // namespace deepinfer::protocol
