#pragma once

/// Items of `output` (recipe spec §10, "Events").

#include <optional>
#include <string>
#include <string_view>

#include "protocol/responses/custom_input.h"

namespace deepinfer::protocol {

struct OutputItem {
  enum class Kind { kReasoning, kMessage, kFunctionCall, kCustomCall, kSearchCall };
  enum class Status { kInProgress, kCompleted, kIncomplete };
  Kind kind = Kind::kMessage;
  Status status = Status::kInProgress;
  /// Place in `output`.
  size_t index = 0;
  /// `rs_ID_i` and the like.
  std::string id;
  /// Reasoning, answer, arguments or the input of a custom call.
  std::string text;
  /// Log probability entries of the answer as JSON, comma separated.
  std::string logprobs;
  /// A message before a call, not the answer.
  bool is_commentary = false;
  std::string call_id;
  std::string name;
  /// Namespace of a called function; empty for none.
  std::string space;
  /// Every part of the call has come.
  bool call_complete = false;
  CustomInput input;
};

std::string_view to_string(OutputItem::Status status);

/// A new item's id: the kind's prefix, the response's id and the place.
std::string output_item_id(OutputItem::Kind kind, std::string_view response_id, size_t index);

/// The item as JSON. `with_content` is false for an item that begins, whose text is still to
/// come. `response_id` makes the handle that stands for a reasoning item's content.
void append_output_item(const OutputItem& item, std::string_view response_id, bool with_content,
                        std::string& out);

/// The only part of an item's content: `reasoning_text` or `output_text`.
void append_content_part(const OutputItem& item, bool with_text, std::string& out);

/// The arguments of a search as one JSON object, or nothing if they are none.
std::optional<std::string> search_arguments(const OutputItem& item);

}  // namespace deepinfer::protocol
