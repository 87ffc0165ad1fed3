#pragma once

/// The messages of a Messages request, checked and converted (recipe spec §9).

#include <set>
#include <string>
#include <vector>

#include "deepinfer/status.h"
#include "protocol/conversion.h"
#include "protocol/messages/messages_request.h"

namespace deepinfer::protocol {

/// What reading the messages needs to know of the request.
struct HistoryContext {
  recipe::Encoding encoding = recipe::Encoding::kV41;
  bool thinking = true;
  /// Pass over searches that a provider ran; otherwise they are refused.
  bool drop_server_tools = false;
  /// Names that references may use.
  std::set<std::string> tool_names;
  const RecipePolicy& policy;
};

/// One message of the conversation with what is decided later.
struct HistoryTurn {
  recipe::ChatMessage message;
  /// An assistant's turn came with thinking, perhaps empty.
  bool has_thinking = false;
  /// Tools declared from here on, by name.
  std::vector<std::string> added_tools;
  /// Exists only to declare tools.
  bool only_for_tools = false;
};

Result<std::vector<HistoryTurn>> convert_history(const std::vector<MessagesMessage>& messages,
                                                 const HistoryContext& context);

}  // namespace deepinfer::protocol
