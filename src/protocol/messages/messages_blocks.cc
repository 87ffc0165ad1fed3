// Content blocks of a Messages request: a table of members per kind of block.

#include "protocol/messages/messages_blocks.h"

#include <utility>

namespace deepinfer::protocol {
namespace {

using enum Presence;
using recipe::Role;
using Kind = MessagesBlock::Kind;
using BlockField = Field<MessagesBlock>;

// ------------------------------------------------------------------------- images

using ImageField = Field<MessagesImage>;

Status read_media_type(const Json& value, const ReadContext& context, MessagesImage& target) {
  return read_enum<std::string>(value, context,
                                {{"image/jpeg", "image/jpeg"},
                                 {"image/jpg", "image/jpeg"},
                                 {"image/png", "image/png"},
                                 {"image/gif", "image/gif"},
                                 {"image/webp", "image/webp"}},
                                target.media_type);
}

Status read_source_type(const Json& value, const ReadContext& context, MessagesImage& target) {
  using Source = MessagesImage::Source;
  return read_enum<Source>(
      value, context, {{"base64", Source::kBase64}, {"url", Source::kUrl}, {"file", Source::kFile}},
      target.source);
}

Status read_source(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr ImageField kType[] = {{"type", read_source_type, kRequired}};
  static constexpr ImageField kBase64[] = {
      {"media_type", read_media_type, kRequired},
      field<&MessagesImage::value>("data", kRequired),
  };
  static constexpr ImageField kUrl[] = {field<&MessagesImage::value>("url", kRequired)};
  static constexpr ImageField kFile[] = {field<&MessagesImage::value>("file_id", kRequired)};
  DI_TRY(read_members(value, context, kType, target.image));
  switch (target.image.source) {
    case MessagesImage::Source::kBase64:
      return read_members(value, context, kBase64, target.image);
    case MessagesImage::Source::kUrl:
      return read_members(value, context, kUrl, target.image);
    case MessagesImage::Source::kFile:
      return read_members(value, context, kFile, target.image);
  }
  return Status::ok();
}

// ------------------------------------------------------------------------- documents

/// What a document says, where that is plain text: `data` of a text source, or `content`.
struct DocumentText {
  std::string type;
  std::string data;
  std::vector<MessagesBlock> content;
};

Status read_text_block(const Json& value, const ReadContext& context, MessagesBlock& target);

Status read_document_content(const Json& value, const ReadContext& context, DocumentText& target) {
  return read_string_or_blocks(value, context, read_text_block, target.content);
}

Status read_document_text(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr Field<DocumentText> kType[] = {field<&DocumentText::type>("type", kRequired)};
  static constexpr Field<DocumentText> kText[] = {field<&DocumentText::data>("data", kRequired)};
  static constexpr Field<DocumentText> kContent[] = {{"content", read_document_content, kRequired}};
  DocumentText document;
  DI_TRY(read_members(value, context, kType, document));
  if (document.type == "text") {
    DI_TRY(read_members(value, context, kText, document));
    target.text = std::move(document.data);
    target.has_text = true;
  } else if (document.type == "content") {
    DI_TRY(read_members(value, context, kContent, document));
    for (size_t i = 0; i < document.content.size(); ++i) {
      target.text += (i == 0 ? "" : "\n\n") + document.content[i].text;
    }
    target.has_text = true;
  }
  return Status::ok();
}

Status read_document_source(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr BlockField kFields[] = {field<&MessagesBlock::media_type>("media_type")};
  DI_TRY(read_members(value, context, kFields, target));
  return context.policy.messages_extensions ? read_document_text(value, context, target)
                                            : Status::ok();
}

// ------------------------------------------------------------------------- other members

Status read_signature(const Json& value, const ReadContext& context, MessagesBlock&) {
  std::string ignored;
  return read_value(value, context, ignored);
}

Status read_is_error(const Json& value, const ReadContext& context, MessagesBlock&) {
  bool ignored = false;
  return read_value(value, context, ignored);
}

Status read_any(const Json&, const ReadContext&, MessagesBlock&) {
  return Status::ok();
}

Status read_reference_type(const Json& value, const ReadContext& context, MessagesBlock&) {
  bool ignored = false;
  return read_enum<bool>(value, context, {{"tool_reference", true}}, ignored);
}

Status read_added_tool(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr BlockField kFields[] = {
      {"type", read_reference_type, kRequired},
      field<&MessagesBlock::name>("name", kRequired),
  };
  return read_members(value, context, kFields, target);
}

Status read_result_content(const Json& value, const ReadContext& context, MessagesBlock& target);

// ------------------------------------------------------------------------- kinds of blocks

constexpr BlockField kText[] = {field<&MessagesBlock::text>("text", kRequired)};
constexpr BlockField kImage[] = {{"source", read_source, kRequired}};
constexpr BlockField kDocument[] = {{"source", read_document_source, kRequired}};
constexpr BlockField kThinking[] = {
    field<&MessagesBlock::text>("thinking", kRequired),
    {"signature", read_signature},
};
constexpr BlockField kRedactedThinking[] = {{"data", read_signature}};
constexpr BlockField kToolUse[] = {
    field<&MessagesBlock::id>("id", kRequired),
    field<&MessagesBlock::name>("name", kRequired),
    field<&MessagesBlock::input>("input", kRequired),
};
constexpr BlockField kToolResult[] = {
    field<&MessagesBlock::id>("tool_use_id", kRequired),
    {"content", read_result_content},
    {"is_error", read_is_error},
};
constexpr BlockField kWebSearchResult[] = {
    field<&MessagesBlock::id>("tool_use_id", kRequired),
    {"content", read_any, kRequired},
};
constexpr BlockField kToolAddition[] = {{"tool", read_added_tool, kRequired}};
constexpr BlockField kToolReference[] = {field<&MessagesBlock::name>("tool_name", kRequired)};

Status read_members_of_kind(const Json& value, const ReadContext& context, MessagesBlock& target) {
  switch (target.kind) {
    case Kind::kText:
      return read_members(value, context, kText, target);
    case Kind::kImage:
      return read_members(value, context, kImage, target);
    case Kind::kDocument:
      return read_members(value, context, kDocument, target);
    case Kind::kThinking:
      return read_members(value, context, kThinking, target);
    case Kind::kRedactedThinking:
      return read_members(value, context, kRedactedThinking, target);
    case Kind::kToolUse:
    case Kind::kServerToolUse:
      return read_members(value, context, kToolUse, target);
    case Kind::kToolResult:
      return read_members(value, context, kToolResult, target);
    case Kind::kWebSearchResult:
      return read_members(value, context, kWebSearchResult, target);
    case Kind::kToolAddition:
      return read_members(value, context, kToolAddition, target);
    case Kind::kToolReference:
      return read_members(value, context, kToolReference, target);
  }
  return Status::ok();
}

Status read_block_type(const Json& value, const ReadContext& context, MessagesBlock& target) {
  if (context.policy.messages_extensions && value == "redacted_thinking") {
    target.kind = Kind::kRedactedThinking;
    return Status::ok();
  }
  return read_enum<Kind>(value, context,
                         {{"text", Kind::kText},
                          {"image", Kind::kImage},
                          {"document", Kind::kDocument},
                          {"thinking", Kind::kThinking},
                          {"tool_use", Kind::kToolUse},
                          {"tool_result", Kind::kToolResult},
                          {"server_tool_use", Kind::kServerToolUse},
                          {"web_search_tool_result", Kind::kWebSearchResult},
                          {"tool_addition", Kind::kToolAddition}},
                         target.kind);
}

Status read_block(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr BlockField kType[] = {{"type", read_block_type, kRequired}};
  DI_TRY(read_members(value, context, kType, target));
  return read_members_of_kind(value, context, target);
}

Status read_result_block_type(const Json& value, const ReadContext& context,
                              MessagesBlock& target) {
  return read_enum<Kind>(value, context,
                         {{"text", Kind::kText},
                          {"image", Kind::kImage},
                          {"document", Kind::kDocument},
                          {"tool_reference", Kind::kToolReference}},
                         target.kind);
}

Status read_result_block(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr BlockField kType[] = {{"type", read_result_block_type, kRequired}};
  DI_TRY(read_members(value, context, kType, target));
  return read_members_of_kind(value, context, target);
}

Status read_result_content(const Json& value, const ReadContext& context, MessagesBlock& target) {
  return read_string_or_blocks(value, context, read_result_block, target.content);
}

Status read_text_type(const Json& value, const ReadContext& context, MessagesBlock& target) {
  return read_enum<Kind>(value, context, {{"text", Kind::kText}}, target.kind);
}

Status read_text_block(const Json& value, const ReadContext& context, MessagesBlock& target) {
  static constexpr BlockField kType[] = {{"type", read_text_type, kRequired}};
  DI_TRY(read_members(value, context, kType, target));
  return read_members(value, context, kText, target);
}

// ------------------------------------------------------------------------- messages

Status read_role(const Json& value, const ReadContext& context, MessagesMessage& target) {
  return read_enum<Role>(
      value, context,
      {{"user", Role::kUser}, {"assistant", Role::kAssistant}, {"system", Role::kSystem}},
      target.role);
}

Status read_content(const Json& value, const ReadContext& context, MessagesMessage& target) {
  return read_string_or_blocks(value, context, read_block, target.content);
}

}  // namespace

Status read_value(const Json& value, const ReadContext& context, MessagesMessage& target) {
  static constexpr Field<MessagesMessage> kFields[] = {
      {"role", read_role, kRequired},
      {"content", read_content, kRequired},
  };
  return read_members(value, context, kFields, target);
}

Status read_system_blocks(const Json& value, const ReadContext& context,
                          std::vector<MessagesBlock>& target) {
  return read_string_or_blocks(value, context, read_text_block, target);
}

}  // namespace deepinfer::protocol
