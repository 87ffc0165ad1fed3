#include "fuzz/fuzz.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "recipe/prompt_texts.h"
#include "recipe/utf8.h"
#include "server/openai_error.h"

namespace deepinfer::fuzz {
namespace {

constexpr const char* kModelDir = "models/demo";
constexpr TokenId kUnknownToken = 1 << 20;

void expect_words(const Status& status) {
  expect(!status.is_ok() && !status.message().empty(), "a failure without words");
  expect(recipe::is_valid_utf8(status.message()), "a message that is not UTF-8", status.message());
}

/// Bytes that UTF-8 does not have, and the control tokens they stand for.
struct TokenByte {
  uint8_t byte;
  std::string_view spelling;
};
constexpr std::array<TokenByte, 7> kTokenBytes = {{
    {0xF8, recipe::spelling::kThinkEnd},
    {0xF9, recipe::spelling::kDsml},
    {0xFA, recipe::spelling::kThinkStart},
    {0xFB, recipe::spelling::kUser},
    {0xFC, recipe::spelling::kEos},
    {0xFD, recipe::spelling::kAssistant},
    {0xFE, {}},  // an id that no token has
}};

std::array<TokenId, 256> make_token_table() {
  const recipe::Tokenizer& tokenizer = demo_recipe().tokenizer();
  std::array<TokenId, 256> table{};
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view bytes = tokenizer.token_bytes(id);
    if (bytes.size() == 1 && !tokenizer.is_special(id)) {
      table[static_cast<uint8_t>(bytes[0])] = id;
    }
  }
  for (const TokenByte& row : kTokenBytes) {
    table[row.byte] =
        row.spelling.empty() ? kUnknownToken : tokenizer.special_id(row.spelling).value();
  }
  return table;
}

}  // namespace

void finding(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "FINDING: %.*s\n%.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(std::min<size_t>(text.size(), 8192)), text.data());
  std::abort();
}

uint8_t Choices::byte() {
  if (bytes_.empty()) {
    return 0;
  }
  const auto value = static_cast<uint8_t>(bytes_.front());
  bytes_.remove_prefix(1);
  return value;
}

size_t Cuts::next(size_t left) {
  if (whole_) {
    return left;
  }
  state_ = state_ * 1664525U + 1013904223U;
  return std::min<size_t>(left, 1 + (state_ >> 24) % 8);
}

const recipe::Recipe& demo_recipe() {
  static const auto loaded = recipe::Recipe::make(kModelDir, kModelDir);
  expect(loaded.has_value(), "run in the root of the repository",
         loaded ? "" : loaded.error().message());
  return **loaded;
}

const protocol::ServiceInfo& demo_service() {
  static const protocol::ServiceInfo info{
      .model_names = {"m", "DeepSeek-V4.1-Flash", "DeepSeek-V4-Pro"},
      .model = {.vocab_size = demo_recipe().tokenizer().vocab_size(),
                .max_model_len = 4096,
                .eos_token_ids = {demo_recipe().control().eos},
                .system_fingerprint = "fp"}};
  return info;
}

Json expect_json(std::string_view text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  expect(!value.is_discarded(), "not JSON", text);
  return value;
}

void expect_refusal(const Status& status) {
  expect_words(status);
  for (const std::string_view path : {"/v1/chat/completions", "/v1/messages"}) {
    const server::HttpError answer =
        server::http_error(status, server::error_style(path, "request"));
    expect(answer.http_status >= 400 && answer.http_status < 500, "a refusal that is no 4xx",
           status.message());
    const Json body = expect_json(answer.body);
    expect(body.contains("error") && body["error"]["message"] == status.message(),
           "a body without the message", answer.body);
  }
}

void expect_bad_file(const Status& status) {
  expect_words(status);
  expect(status.code() == StatusCode::kFailedPrecondition ||
             status.code() == StatusCode::kUnimplemented,
         "another code than a damaged file's", status.message());
}

std::vector<TokenId> output_tokens(std::string_view bytes) {
  static const std::array<TokenId, 256> table = make_token_table();
  std::vector<TokenId> ids;
  for (const char c : bytes) {
    ids.push_back(table[static_cast<uint8_t>(c)]);
  }
  return ids;
}

}  // namespace deepinfer::fuzz
