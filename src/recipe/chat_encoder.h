#pragma once

/// Conversation → prompt text → token ids (recipe spec §5, §6).

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "deepinfer/constraint.h"
#include "deepinfer/request.h"
#include "recipe/chat.h"
#include "recipe/tokenizer.h"

namespace deepinfer::recipe {

/// Prompt encodings; chosen from the model's configuration, together with its parser.
enum class Encoding { kV4, kV41 };

/// How the encoding writes calls, for constraints; `marker` is the id of the DSML token.
ToolCallMarkup call_markup(Encoding encoding, TokenId marker);

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

/// What becomes of control tokens that the tokenizer does not have.
enum class MissingTokens {
  kError,
  kAsText,  ///< They are encoded with the text around them (bare test checkpoints).
};

/// Ids of a rendered prompt: special ranges by their added token, each stretch between them as
/// plain text by itself. kInternal if the tokenizer lacks a control token and `missing` is
/// kError; `Recipe::encode` picks what fits its tokenizer.
Result<std::vector<TokenId>> encode(const RenderedPrompt& prompt, const Tokenizer& tokenizer,
                                    MissingTokens missing = MissingTokens::kError);

}  // namespace deepinfer::recipe
