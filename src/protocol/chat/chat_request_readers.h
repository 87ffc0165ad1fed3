#pragma once

/// Readers of the larger parts of a chat request, shared by the files that read it.

#include "protocol/chat/chat_request.h"
#include "protocol/field_reader.h"

namespace deepinfer::protocol {

Status read_value(const Json& value, const ReadContext& context, RequestMessage& target);
Status read_value(const Json& value, const ReadContext& context, RequestTool& target);
Status read_value(const Json& value, const ReadContext& context, RequestStop& stop);
Status read_value(const Json& value, const ReadContext& context, StreamOptions& target);
Status read_value(const Json& value, const ReadContext& context, TemplateArguments& target);

/// `type` of a tool, a call or a choice: only functions exist.
template <typename T>
Status read_function_type(const Json& value, const ReadContext& context, T&) {
  bool ignored = false;
  return read_enum<bool>(value, context, {{"function", true}}, ignored);
}

}  // namespace deepinfer::protocol
