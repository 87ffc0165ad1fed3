#include "fuzz/output.h"

#include <algorithm>
#include <array>

#include "recipe/prompt_texts.h"
#include "recipe/utf8.h"

namespace deepinfer::fuzz {
namespace {

constexpr std::array<std::string_view, 4> kMarkup = {
    recipe::spelling::kDsml, recipe::spelling::kThinkEnd, recipe::spelling::kThinkStart,
    "<\xEF\xBD\x9C"};

/// Markup that these tokens cannot have spelled as text.
bool shows_markup(std::string_view text, const OutputFacts& facts) {
  const auto missing = [&](char byte) { return !facts.has_byte[static_cast<uint8_t>(byte)]; };
  return std::any_of(kMarkup.begin(), kMarkup.end(), [&](std::string_view spelling) {
    return std::any_of(spelling.begin(), spelling.end(), missing) &&
           text.find(spelling) != std::string_view::npos;
  });
}

bool has_replacement(std::string_view text) {
  return text.find(recipe::kReplacementCharacter) != std::string_view::npos;
}

}  // namespace

OutputFacts facts_of(std::span<const TokenId> ids) {
  const recipe::Tokenizer& tokenizer = demo_recipe().tokenizer();
  OutputFacts facts;
  std::string run;
  for (size_t i = 0; i <= ids.size(); ++i) {
    if (i == ids.size() || tokenizer.is_special(ids[i])) {
      facts.clean_utf8 = facts.clean_utf8 && recipe::is_valid_utf8(run) && !has_replacement(run);
      run.clear();
    } else {
      for (const char byte : tokenizer.token_bytes(ids[i])) {
        facts.has_byte[static_cast<uint8_t>(byte)] = true;
        run += byte;
      }
    }
  }
  return facts;
}

void expect_text(std::string_view text, const OutputFacts& facts, bool hides_markup) {
  expect(recipe::is_valid_utf8(text), "an answer that is not UTF-8", text);
  expect(!facts.clean_utf8 || !has_replacement(text), "U+FFFD that no byte calls for", text);
  expect(!hides_markup || !shows_markup(text, facts), "control markup in an answer", text);
}

}  // namespace deepinfer::fuzz
