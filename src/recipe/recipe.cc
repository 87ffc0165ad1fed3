#include "recipe/recipe.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "recipe/json_member.h"
#include "recipe/prompt_texts.h"

namespace deepinfer::recipe {
namespace {

struct Architecture {
  std::string_view name;
  Encoding encoding;
};

constexpr std::array<Architecture, 2> kArchitectures = {{
    {"DeepseekV41ForCausalLM", Encoding::kV41},
    {"DeepseekV4ForCausalLM", Encoding::kV4},
}};

/// Without these no sequence can begin or end.
constexpr std::array<std::string_view, 2> kSequenceTokens = {spelling::kBos, spelling::kEos};

/// What a chat is made of; a tokenizer has all of them or none. V4 has no SYSTEM.
constexpr std::array<std::string_view, 7> kChatTokens = {
    spelling::kUser, spelling::kAssistant,      spelling::kThinkStart, spelling::kThinkEnd,
    spelling::kDsml, spelling::kLatestReminder, spelling::kSystem};

std::span<const std::string_view> chat_tokens(Encoding encoding) {
  const std::span<const std::string_view> all = kChatTokens;
  return encoding == Encoding::kV4 ? all.first(all.size() - 1) : all;
}

std::vector<std::string_view> missing_of(std::span<const std::string_view> spellings,
                                         const Tokenizer& tokenizer) {
  std::vector<std::string_view> missing;
  for (const std::string_view spelling : spellings) {
    if (!tokenizer.special_id(spelling)) missing.push_back(spelling);
  }
  return missing;
}

Status missing_error(std::span<const std::string_view> missing) {
  std::string message = "expected added_tokens with every control token of the encoding, missing:";
  for (const std::string_view spelling : missing) message.append(" ").append(spelling);
  return failed_precondition(std::move(message));
}

Result<Encoding> encoding_of(const nlohmann::json& config) {
  const nlohmann::json& list = member_or_null(config, "architectures");
  if (!list.is_array() || list.size() != 1 || !list[0].is_string()) {
    return wrong_member("architectures", "a list of one name", list);
  }
  const auto& name = list[0].get_ref<const std::string&>();
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture.encoding;
    known.append(known.empty() ? "" : " or ").append(architecture.name);
  }
  return unimplemented("architectures: expected " + known + ", got " + name);
}

Result<Encoding> read_encoding(const std::string& model_dir) {
  const std::string path = (std::filesystem::path(model_dir) / "config.json").string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return not_found(path + ": no such file");
  std::ifstream file(path);
  if (!file) return not_found(path + ": cannot be opened");
  const auto config = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return failed_precondition(path + ": expected a JSON object");
  auto encoding = encoding_of(config);
  if (!encoding) return encoding.error().with_context(path);
  return encoding;
}

/// True if all chat tokens are there, false if none is.
Result<bool> check_tokens(Encoding encoding, const Tokenizer& tokenizer) {
  auto missing = missing_of(kSequenceTokens, tokenizer);
  const auto missing_chat = missing_of(chat_tokens(encoding), tokenizer);
  const bool bare = missing_chat.size() == chat_tokens(encoding).size();
  if (!bare) missing.insert(missing.end(), missing_chat.begin(), missing_chat.end());
  if (!missing.empty()) return missing_error(missing);
  return !bare;
}

ControlTokens control_tokens(const Tokenizer& tokenizer) {
  const auto id = [&](std::string_view spelling) {
    return tokenizer.special_id(spelling).value_or(ControlTokens::kNone);
  };
  return {.bos = id(spelling::kBos),
          .eos = id(spelling::kEos),
          .think_start = id(spelling::kThinkStart),
          .think_end = id(spelling::kThinkEnd),
          .dsml = id(spelling::kDsml)};
}

}  // namespace

Result<std::unique_ptr<Recipe>> Recipe::make(const std::string& model_dir,
                                             const std::string& tokenizer_dir) {
  DI_ASSIGN(const Encoding encoding, read_encoding(model_dir));
  DI_ASSIGN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::load(tokenizer_dir));
  const auto has_chat_tokens = check_tokens(encoding, *tokenizer);
  if (!has_chat_tokens) {
    return has_chat_tokens.error().with_context(
        (std::filesystem::path(tokenizer_dir) / "tokenizer.json").string());
  }
  const ControlTokens control = control_tokens(*tokenizer);
  return std::make_unique<Recipe>(encoding, std::move(tokenizer), control, *has_chat_tokens);
}

Recipe::Recipe(Encoding encoding, std::unique_ptr<Tokenizer> tokenizer, ControlTokens control,
               bool has_chat_tokens)
    : encoding_(encoding),
      tokenizer_(std::move(tokenizer)),
      control_(control),
      has_chat_tokens_(has_chat_tokens),
      image_token_(tokenizer_->special_id(spelling::kV41Image) ? spelling::kV41Image
                                                               : spelling::kImage) {}

RenderedPrompt Recipe::render(const Conversation& conversation) const {
  return recipe::render(encoding_, conversation, image_token_);
}

Result<std::vector<TokenId>> Recipe::encode(const RenderedPrompt& prompt) const {
  return recipe::encode(prompt, *tokenizer_,
                        has_chat_tokens_ ? MissingTokens::kError : MissingTokens::kAsText);
}

}  // namespace deepinfer::recipe
