#include "model/token_map.h"

#include <spdlog/fmt/fmt.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <utility>

#include "model/json_file.h"

namespace deepinfer::model {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr size_t kMaxTokens = 1 << 24;

using CodePoints = std::u32string;

/// The code points of `bytes`; false if they are not well-formed UTF-8.
bool decode_utf8(std::string_view bytes, CodePoints& out) {
  out.clear();
  const auto* next = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data());
  auto left = static_cast<utf8proc_ssize_t>(bytes.size());
  while (left > 0) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t used = utf8proc_iterate(next, left, &code);
    if (used <= 0) {
      return false;
    }
    out.push_back(static_cast<char32_t>(code));
    next += used;
    left -= used;
  }
  return true;
}

std::string encode_utf8(const CodePoints& text) {
  std::string out;
  for (const char32_t c : text) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t count =
        utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      out.push_back(static_cast<char>(bytes[static_cast<size_t>(i)]));
    }
  }
  return out;
}

/// Byte of each character of the byte-level alphabet; -1 for other characters. Printable
/// Latin-1 spells itself, the other 68 bytes U+0100 .. U+0143 in ascending order.
std::array<int, 0x144> make_alphabet() {
  std::array<int, 0x144> byte_of{};
  byte_of.fill(-1);
  size_t extra = 0x100;
  for (size_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    byte_of[printable ? b : extra++] = static_cast<int>(b);
  }
  return byte_of;
}

/// The bytes a spelling stands for: through the alphabet, or the UTF-8 spelling itself if a
/// character lies outside it.
std::string spelled_bytes(std::string_view spelling) {
  static const std::array<int, 0x144> kAlphabet = make_alphabet();
  CodePoints characters;
  std::string bytes;
  if (!decode_utf8(spelling, characters)) {
    return std::string(spelling);
  }
  for (const char32_t c : characters) {
    if (c >= kAlphabet.size() || kAlphabet[c] < 0) {
      return std::string(spelling);
    }
    bytes.push_back(static_cast<char>(kAlphabet[c]));
  }
  return bytes;
}

/// Normalised as `options` say; the input is well-formed, so only memory can be missing.
std::string map_utf8(const std::string& text, int options) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  if (size < 0) {
    return text;
  }
  return {reinterpret_cast<const char*>(mapped), static_cast<size_t>(size)};
}

bool is_mark(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

/// Unicode's White_Space property.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_blank(char32_t c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Marks dropped, lower case, runs of blanks squeezed to one space.
CodePoints simplify(const CodePoints& text) {
  CodePoints out;
  bool after_blank = false;
  for (const char32_t c : text) {
    if (is_mark(c)) {
      continue;
    }
    if (!is_blank(c)) {
      out.push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    } else if (!after_blank) {
      out.push_back(U' ');
    }
    after_blank = is_blank(c);
  }
  return out;
}

CodePoints strip(const CodePoints& text) {
  const auto solid = [](char32_t c) { return !is_white_space(c); };
  const auto begin = std::find_if(text.begin(), text.end(), solid);
  const auto end = std::find_if(text.rbegin(), std::make_reverse_iterator(begin), solid).base();
  return {begin, end};
}

Status bad_tokenizer(const std::string& why) {
  return failed_precondition("tokenizer.json: " + why);
}

bool is_token_id(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() < kMaxTokens;
}

/// Spelling of every id.
using Spellings = std::unordered_map<uint64_t, std::string>;

Status add_vocabulary(const Json& root, Spellings& spellings) {
  if (!root.is_object() || !root.contains("model") || !root.at("model").is_object() ||
      !root.at("model").contains("vocab") || !root.at("model").at("vocab").is_object()) {
    return bad_tokenizer("expected an object with model.vocab");
  }
  for (const auto& [spelling, id] : root.at("model").at("vocab").items()) {
    if (!is_token_id(id)) {
      return bad_tokenizer(fmt::format("model.vocab: expected token ids, found {}", describe(id)));
    }
    if (!spellings.emplace(id.get<uint64_t>(), spelling).second) {
      return bad_tokenizer(fmt::format("model.vocab: id {} is given twice", id.get<uint64_t>()));
    }
  }
  return Status::ok();
}

Status add_added_tokens(const Json& root, Spellings& spellings) {
  const auto added = root.find("added_tokens");
  if (added == root.end() || added->is_null()) {
    return Status::ok();
  }
  if (!added->is_array()) {
    return bad_tokenizer("added_tokens: expected a list");
  }
  for (const Json& token : *added) {
    const bool whole = token.is_object() && token.contains("id") && is_token_id(token.at("id")) &&
                       token.contains("content") && token.at("content").is_string();
    if (!whole) {
      return bad_tokenizer(fmt::format(
          "added_tokens: expected objects with id and content, found {}", describe(token)));
    }
    spellings[token.at("id").get<uint64_t>()] = token.at("content").get<std::string>();
  }
  return Status::ok();
}

Result<TokenMap> token_map_from_json(const Json& root) {
  Spellings spellings;
  DI_TRY(add_vocabulary(root, spellings));
  DI_TRY(add_added_tokens(root, spellings));
  TokenMap map;
  std::unordered_map<std::string, int32_t> id_of_key;
  for (uint64_t id = 0; id < spellings.size(); ++id) {
    const auto it = spellings.find(id);
    if (it == spellings.end()) {
      return bad_tokenizer(fmt::format("{} tokens, but none has id {}; ids must be contiguous",
                                       spellings.size(), id));
    }
    const auto next = static_cast<int32_t>(id_of_key.size());
    map.compressed.push_back(id_of_key.try_emplace(compressed_key(it->second), next).first->second);
  }
  map.num_compressed = static_cast<int32_t>(id_of_key.size());
  return map;
}

}  // namespace

std::string compressed_key(std::string_view spelling) {
  const std::string text = spelled_bytes(spelling);
  CodePoints characters;
  // Decoding with replacement yields U+FFFD exactly when the bytes are not well-formed.
  if (!decode_utf8(text, characters) || characters.find(kReplacement) != CodePoints::npos) {
    return std::string(spelling);
  }
  const std::string composed = map_utf8(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  decode_utf8(map_utf8(composed, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), characters);
  const CodePoints simple = simplify(characters);
  const CodePoints key = simple == U" " ? simple : strip(simple);
  return key.empty() ? text : encode_utf8(key);
}

Result<TokenMap> parse_token_map(std::string_view text) {
  DI_ASSIGN(const Json root, parse_json(text, "tokenizer.json"));
  return token_map_from_json(root);
}

Result<TokenMap> load_token_map(const std::string& dir) {
  DI_ASSIGN(const Json root, read_json_file(dir + "/tokenizer.json"));
  return token_map_from_json(root);
}

Result<std::vector<std::string>> load_token_bytes(const std::string& dir, int32_t vocab_size) {
  DI_ASSIGN(const Json root, read_json_file(dir + "/tokenizer.json"));
  Spellings plain;
  Spellings added;
  DI_TRY(add_vocabulary(root, plain));
  DI_TRY(add_added_tokens(root, added));
  std::vector<std::string> bytes(static_cast<size_t>(vocab_size));
  for (const auto& [id, spelling] : plain) {
    if (id < bytes.size() && !added.contains(id)) {
      bytes[id] = spelled_bytes(spelling);
    }
  }
  return bytes;
}

}  // namespace deepinfer::model
