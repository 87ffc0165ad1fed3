#pragma once

/// Readers of Messages content, shared by the files that read a request.

#include "protocol/field_reader.h"
#include "protocol/messages/messages_request.h"

namespace deepinfer::protocol {

Status read_value(const Json& value, const ReadContext& context, MessagesMessage& target);
/// A string or a list of text blocks.
Status read_system_blocks(const Json& value, const ReadContext& context,
                          std::vector<MessagesBlock>& target);

/// A string, which is one text block, or a list of blocks.
template <typename ReadBlock>
Status read_string_or_blocks(const Json& value, const ReadContext& context,
                             const ReadBlock& read_block, std::vector<MessagesBlock>& target) {
  if (value.is_string()) {
    target.push_back({.text = value.get_ref<const std::string&>()});
    return Status::ok();
  }
  if (!value.is_array()) {
    return wrong_type(context, "a string or a list", value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_block(value[i], context.item(i), target.emplace_back()));
  }
  return Status::ok();
}

}  // namespace deepinfer::protocol
