#pragma once

/// Reading the recorded cases of tests/data/recipe and the tokenizer they were made with.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recipe/chat_encoder.h"
#include "recipe/tokenizer.h"

namespace deepinfer::recipe::test {

using CaseJson = nlohmann::ordered_json;

inline constexpr const char* kTokenizerDir = "tests/data/tokenizer-v4.1";

/// The cases of one kind, `{"id", "kind", "input", "expected"}` each. Fails the test if the
/// file is missing or empty.
std::vector<CaseJson> read_cases(const std::string& kind);

/// What a render or encode case gives `render`.
struct RenderInput {
  Encoding encoding = Encoding::kV41;
  Conversation conversation;
  std::string image_token;
};
RenderInput render_input(const CaseJson& input);

/// Images as the cases write them.
CaseJson images_json(const std::vector<ImageSource>& images);

/// The V4.1 tokenizer, loaded once.
const Tokenizer& v41_tokenizer();

}  // namespace deepinfer::recipe::test
