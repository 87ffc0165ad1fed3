#include "recipe/tokenizer.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "recipe/bpe_tokenizer.h"
#include "recipe/utf8.h"

namespace deepinfer::recipe {
namespace {

/// Tens of times the size of real files.
constexpr uint64_t kMaxFileBytes = 512ULL << 20U;

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return not_found(path + ": " + error.message());
  if (!std::filesystem::is_regular_file(path, error)) return not_found(path + ": is no file");
  if (size > kMaxFileBytes) {
    return failed_precondition(path + ": expected at most " + std::to_string(kMaxFileBytes) +
                               " bytes, got " + std::to_string(size));
  }
  std::string text(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return failed_precondition(path + ": cannot be read");
  return text;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const std::string& dir) {
  const std::string path = (std::filesystem::path(dir) / "tokenizer.json").string();
  DI_ASSIGN(const std::string text, read_text(path));
  auto tokenizer = BpeTokenizer::parse(text);
  if (!tokenizer) return tokenizer.error().with_context(path);
  return std::unique_ptr<Tokenizer>(std::move(*tokenizer));
}

std::string token_text(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text.append("\\x");
    text.push_back(kHex[byte >> 4U]);
    text.push_back(kHex[byte & 0x0FU]);
  }
  return text;
}

}  // namespace deepinfer::recipe
