#pragma once

/// Puts a prompt together and notes which parts of it are control tokens.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/chat_encoder.h"
#include "recipe/json_text.h"
#include "recipe/prompt_texts.h"

namespace deepinfer::recipe {

/// The parts that the prompt encodings share (recipe spec §5, "Common parts"). Only `special`,
/// `fixed` and the placeholders of `message_text` make control tokens; everything a client
/// wrote stays text, whatever it spells. One prompt, one thread.
class PromptWriter {
 public:
  /// `conversation` must outlive the writer.
  PromptWriter(Encoding encoding, const Conversation& conversation, std::string_view image_token);

  /// Tools are declared, and earlier turns keep their reasoning.
  bool tools_in_use() const;

  /// What a client wrote.
  void text(std::string_view text) { prompt_.text.append(text); }
  /// One control token.
  void special(std::string_view spelling);
  /// A text of the encoding itself: THINK, /THINK and DSML in it are control tokens.
  void fixed(std::string_view rest);
  /// A message's content with its images.
  void message_text(const ChatMessage& message);
  /// A message's content as a tool result.
  void tool_result(const ChatMessage& message);
  /// What thinking mode says about effort; empty otherwise.
  std::string_view effort() const;
  /// Declared tools and response format, which follow the first system text.
  bool has_tail() const;
  void tail();
  /// Tools that a system message declares.
  void updated_tools(const std::vector<ToolDeclaration>& tools);
  /// The markup of an assistant's calls, in the order given.
  void tool_calls(const std::vector<const ToolCall*>& calls);
  /// The header of the turn that the model is to write.
  void open_turn();
  /// Opens the block of calls if the answer must be one; ends the prompt.
  void required_tool_choice();

  RenderedPrompt take() { return std::move(prompt_); }

 private:
  void schema_lines(const std::vector<const ToolDeclaration*>& tools);
  void tool_call(const ToolCall& call);
  void parameter(std::string_view key, const Json& value);
  void tag(std::string_view opening, std::string_view name);

  const PromptTexts& texts_;
  const Conversation& conversation_;
  std::string_view image_token_;
  JsonStyle json_style_;
  RenderedPrompt prompt_;
};

}  // namespace deepinfer::recipe
