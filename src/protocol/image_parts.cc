#include "protocol/image_parts.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace deepinfer::protocol {
namespace {

constexpr std::string_view kFormats[] = {"png", "jpeg", "jpg", "gif", "webp"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_any_case(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                    [](char a, char b) { return a == lower(b); });
}

bool is_base64(std::string_view text) {
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  if ((text.size() + padding) % 4 != 0) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

enum class DataUrl { kImage, kOtherMedia, kMalformed };

DataUrl classify_data_url(std::string_view url) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kBase64 = ";base64,";
  if (!starts_with_any_case(url, kScheme)) {
    return DataUrl::kMalformed;
  }
  url.remove_prefix(kScheme.size());
  const size_t at = url.find(kBase64);
  if (at == std::string_view::npos) {
    return DataUrl::kMalformed;
  }
  const std::string_view media = url.substr(0, at);
  const std::string_view data = url.substr(at + kBase64.size());
  if (data.empty() || !is_base64(data)) {
    return DataUrl::kMalformed;
  }
  for (const std::string_view format : kFormats) {
    if (media == "image/" + std::string(format)) {
      return DataUrl::kImage;
    }
  }
  return DataUrl::kOtherMedia;
}

std::string place(size_t index) {
  return ".messages[" + std::to_string(index) + "]";
}

Status refuse(size_t index, std::string_view what) {
  return invalid_argument(place(index) + ": " + std::string(what))
      .with_param("messages[" + std::to_string(index) + "].content");
}

constexpr std::string_view kUnsupportedMedia =
    "You have uploaded an unsupported image. Please make sure your image is valid and has one of "
    "the following formats: webp, png, jpeg, and gif.";

}  // namespace

Result<recipe::ImageSource> read_image_part(const ContentPart& part, size_t index) {
  using Kind = recipe::ImageSource::Kind;
  recipe::ImageSource image{.detail = part.detail, .path = place(index)};
  if (part.kind == ContentPart::Kind::kImageUrl) {
    image.value = part.url;
    if (starts_with_any_case(part.url, "http://") || starts_with_any_case(part.url, "https://")) {
      image.kind = Kind::kUrl;
      return image;
    }
    image.kind = Kind::kDataUrl;
    switch (classify_data_url(part.url)) {
      case DataUrl::kImage:
        return image;
      case DataUrl::kOtherMedia:
        return refuse(index, kUnsupportedMedia);
      case DataUrl::kMalformed:
        return refuse(index, "Unsupported image_url format");
    }
  }
  if (part.file_id && part.file_data) {
    return refuse(index, "file cannot have both file_id and file_data");
  }
  if (part.file_id && part.filename) {
    return refuse(index, "file cannot have filename when file_id is present");
  }
  if (part.file_id) {
    return refuse(index, "file_id is not supported. Pass the image as a base64 data url instead.");
  }
  if (!part.file_data) {
    return refuse(index, "file must have a file_id or file_data");
  }
  image.kind = Kind::kDataUrl;
  image.value = *part.file_data;
  switch (classify_data_url(*part.file_data)) {
    case DataUrl::kImage:
      return image;
    case DataUrl::kOtherMedia:
      return refuse(index, kUnsupportedMedia);
    case DataUrl::kMalformed:
      return refuse(index, "file_data is not a valid base64 data url");
  }
  return image;
}

}  // namespace deepinfer::protocol
