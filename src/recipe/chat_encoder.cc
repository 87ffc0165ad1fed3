#include "recipe/chat_encoder.h"

#include <string_view>

#include "recipe/encodings.h"
#include "recipe/prompt_texts.h"

namespace deepinfer::recipe {

ToolCallMarkup call_markup(Encoding encoding, TokenId marker) {
  const PromptTexts& texts = prompt_texts(encoding);
  return {.marker = marker,
          .block = std::string(texts.calls_tag),
          .space = std::string(texts.tag_space)};
}

RenderedPrompt render(Encoding encoding, const Conversation& conversation,
                      const std::string& image_token) {
  return encoding == Encoding::kV4 ? render_v4(conversation, image_token)
                                   : render_v41(conversation, image_token);
}

Result<std::vector<TokenId>> encode(const RenderedPrompt& prompt, const Tokenizer& tokenizer,
                                    MissingTokens missing) {
  const std::string_view text = prompt.text;
  std::vector<TokenId> ids;
  size_t done = 0;
  const auto append_text = [&](size_t end) {
    const std::vector<TokenId> plain = tokenizer.encode_plain(text.substr(done, end - done));
    ids.insert(ids.end(), plain.begin(), plain.end());
  };
  for (const auto& [begin, end] : prompt.special_ranges) {
    const std::string_view spelling = text.substr(begin, end - begin);
    const auto id = tokenizer.special_id(spelling);
    if (!id && missing == MissingTokens::kAsText) continue;
    if (!id) {
      return internal_error("expected a tokenizer with the control token " + std::string(spelling) +
                            ", got one without");
    }
    append_text(begin);
    ids.push_back(*id);
    done = end;
  }
  append_text(text.size());
  return ids;
}

}  // namespace deepinfer::recipe
