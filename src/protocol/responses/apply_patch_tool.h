#pragma once

/// The custom tool `apply_patch` as models were taught it: whatever description or grammar a
/// client sends, this one is declared. Source of the text: the reference library
/// `deepseek-recipe` 0.2.0, read out of prompts it rendered.

#include <string_view>

#include "protocol/request_parts.h"
#include "recipe/chat_encoder.h"

namespace deepinfer::protocol {

inline constexpr std::string_view kApplyPatch = "apply_patch";

RequestTool apply_patch_tool(recipe::Encoding encoding);

}  // namespace deepinfer::protocol
