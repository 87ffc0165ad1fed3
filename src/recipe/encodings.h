#pragma once

/// The two prompt encodings behind `render`.

#include <string_view>

#include "recipe/chat_encoder.h"

namespace deepinfer::recipe {

/// DeepSeek-V4-Pro (recipe spec §5, "v4"): one system text in front, effort as prose.
RenderedPrompt render_v4(const Conversation& conversation, std::string_view image_token);

/// DeepSeek-V4.1-Flash (recipe spec §5, "v4.1"): system turns in place, effort as a number.
RenderedPrompt render_v41(const Conversation& conversation, std::string_view image_token);

}  // namespace deepinfer::recipe
