// Texts of a tokenizer.json. A tokenizer that loads gives every text back.

#include <array>

#include "fuzz/fuzz.h"
#include "model/token_map.h"
#include "recipe/bpe_tokenizer.h"
#include "recipe/utf8.h"

using namespace deepinfer;  // a target is one function

namespace {

constexpr std::array<std::string_view, 3> kTexts = {
    "The quick brown fox, 12345 times.\n\n  \t\r\nEnd ",
    "h\xC3\xA9llo \xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\xAB\xA0",
    "aaaaaaaaaaaaaaaa<think></think>{\"a\": [1, 2]}"};

void expect_lossless(const recipe::Tokenizer& tokenizer, std::string_view text) {
  std::string decoded;
  for (const TokenId id : tokenizer.encode_plain(text)) {
    fuzz::expect(id >= 0 && id < tokenizer.vocab_size(), "an id outside the vocabulary", text);
    fuzz::expect(!tokenizer.is_special(id), "plain text that became an added token", text);
    decoded += tokenizer.token_bytes(id);
  }
  fuzz::expect(decoded == text, "a text that does not come back", decoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json = fuzz::as_text(data, size);
  const auto tokenizer = recipe::BpeTokenizer::parse(json);
  if (!tokenizer) {
    fuzz::expect_bad_file(tokenizer.error());
  } else {
    std::string own;
    recipe::append_lossy(json.substr(0, 256), own);
    expect_lossless(**tokenizer, own);
    for (const std::string_view text : kTexts) {
      expect_lossless(**tokenizer, text);
      for (const TokenId id : (*tokenizer)->encode_full(text)) {
        fuzz::expect(!(*tokenizer)->token_bytes(id).empty(), "an id without bytes", text);
      }
    }
  }
  const auto map = model::parse_token_map(json);
  if (!map) {
    fuzz::expect_bad_file(map.error());
  }
  return 0;
}
