#pragma once

/// Conversation → prompt text → token ids (recipe spec §5, §6).

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/chat.h"
#include "recipe/tokenizer.h"

namespace deepinfer::recipe {

/// Prompt encodings; chosen from the model's configuration, together with its parser.
enum class Encoding { kV4, kV41 };

/// A prompt as text, with the parts that are control tokens marked.
struct RenderedPrompt {
  std::string text;
  /// Half-open byte ranges of `text` that are control tokens, ascending.
  std::vector<std::pair<size_t, size_t>> special_ranges;
  std::vector<ImageSource> images;
};

/// Renders `conversation`. `image_token` replaces the spelling of the image placeholder when
/// not empty.
RenderedPrompt render(Encoding encoding, const Conversation& conversation,
                      const std::string& image_token = {});

/// Ids of a rendered prompt: special ranges by their added token, the rest as plain text.
/// kInternal if the tokenizer lacks a control token (checked when a recipe is made).
Result<std::vector<TokenId>> encode(const RenderedPrompt& prompt, const Tokenizer& tokenizer);

}  // namespace deepinfer::recipe
