#include "protocol/messages/messages_images.h"

#include <cstdio>
#include <optional>
#include <string_view>

namespace deepinfer::protocol {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with its padding made canonical: where digits need padding there must be some, however
/// much, and no bits may be left over. Nothing if it is not base64.
std::optional<std::string> canonical_base64(std::string_view text) {
  std::string digits(text.substr(0, text.find('=')));
  const size_t padding = text.size() - digits.size();
  if (digits.find_first_not_of(kDigits) != std::string::npos ||
      text.substr(digits.size()).find_first_not_of('=') != std::string_view::npos) {
    return std::nullopt;
  }
  const size_t needed = (4 - digits.size() % 4) % 4;
  if (needed == 3 || (needed > 0 && padding == 0)) {
    return std::nullopt;
  }
  if (needed > 0) {
    const size_t unused_bits = needed == 2 ? 4 : 2;
    if (kDigits.find(digits.back()) % (size_t{1} << unused_bits) != 0) {
      return std::nullopt;
    }
  }
  return digits + std::string(needed, '=');
}

/// The text in quotes, control characters spelled out.
std::string debug_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n' || c == '\r' || c == '\t' || c == '\0') {
      (out += '\\') += c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : '0';
    } else if (byte < 0x20 || byte == 0x7F) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u{%x}", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out += '"';
}

bool begins_with_http(std::string_view url) {
  constexpr std::string_view kHttp = "http";
  for (size_t i = 0; i < kHttp.size(); ++i) {
    if (i == url.size() || (url[i] | 0x20) != kHttp[i]) {
      return false;
    }
  }
  return true;
}

Status refuse(const std::string& place, const std::string& what) {
  return invalid_argument(place + ": " + what).with_param(place);
}

}  // namespace

Result<recipe::ImageSource> read_messages_image(const MessagesImage& image, const std::string& path,
                                                const std::string& place) {
  using Kind = recipe::ImageSource::Kind;
  recipe::ImageSource result{.kind = Kind::kUrl, .detail = "high", .path = path};
  switch (image.source) {
    case MessagesImage::Source::kUrl:
      if (!begins_with_http(image.value)) {
        return refuse(place, "invalid url: " + debug_text(image.value));
      }
      result.value = image.value;
      return result;
    case MessagesImage::Source::kFile:
      return refuse(place,
                    "file_id is not supported. Pass the image as a base64 data url instead.");
    case MessagesImage::Source::kBase64:
      break;
  }
  const auto data = canonical_base64(image.value);
  if (!data) {
    return refuse(place, "base64 decode error");
  }
  result.kind = Kind::kDataUrl;
  result.value = "data:" + image.media_type + ";base64,";
  result.value += *data;
  return result;
}

}  // namespace deepinfer::protocol
