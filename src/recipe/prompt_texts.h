#pragma once

/// The fixed texts of the prompt encodings: every word of a prompt that no client wrote.
/// Source: the reference library `deepseek-recipe` 0.2.0, read out of prompts it rendered.

#include <string_view>

#include "recipe/chat_encoder.h"

namespace deepinfer::recipe {

/// Spellings of the control tokens. The image token is spelled differently by some tokenizer
/// files, see `render`.
namespace spelling {
inline constexpr std::string_view kBos = "<｜begin▁of▁sentence｜>";
inline constexpr std::string_view kEos = "<｜end▁of▁sentence｜>";
inline constexpr std::string_view kThinkStart = "<think>";
inline constexpr std::string_view kThinkEnd = "</think>";
inline constexpr std::string_view kSystem = "<｜System｜>";
inline constexpr std::string_view kUser = "<｜User｜>";
inline constexpr std::string_view kAssistant = "<｜Assistant｜>";
inline constexpr std::string_view kLatestReminder = "<｜latest_reminder｜>";
inline constexpr std::string_view kDsml = "｜DSML｜";
inline constexpr std::string_view kImage = "<｜image｜>";
/// The image token of the V4.1 tokenizer file.
inline constexpr std::string_view kV41Image = "<｜deepseek_image｜>";
}  // namespace spelling

/// What one encoding writes. Texts hold control-token spellings that are control tokens.
struct PromptTexts {
  /// The effort levels, and what stands for "not given". V4 and V4.1 have no level of their
  /// own for `xhigh`: it reads as `high`. V4's `low` says nothing.
  std::string_view effort_low;
  std::string_view effort_high;
  std::string_view effort_xhigh;
  std::string_view effort_max;
  std::string_view effort_default;
  /// Around the schema lines of the declared tools.
  std::string_view tools_before_schemas;
  std::string_view tools_after_schemas;
  /// Before the schema lines of tools that a later system message declares.
  std::string_view updated_tools_before_schemas;
  /// Response formats.
  std::string_view json_object;
  std::string_view json_schema_before;
  /// Ends a prompt whose answer must be a tool call.
  std::string_view required_tool_choice_suffix;
  /// After DSML in the tags around all calls of a turn.
  std::string_view calls_tag;
  /// After DSML in the tags of one call and of one parameter.
  std::string_view tag_space;
  /// Whether a call without parameters has an empty line in their place.
  bool empty_parameter_line;
};

const PromptTexts& prompt_texts(Encoding encoding);

}  // namespace deepinfer::recipe
