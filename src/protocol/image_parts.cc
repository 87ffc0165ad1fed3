#include "protocol/image_parts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace deepinfer::protocol {
namespace {

constexpr std::string_view kFormats[] = {"image/png", "image/jpeg", "image/jpg", "image/gif",
                                         "image/webp"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_any_case(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                    [](char a, char b) { return a == lower(b); });
}

/// Base64 as browsers forgive it: white space anywhere, padding optional but right.
bool is_base64(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f'; });
  if (digits.size() % 4 == 0) {
    for (int i = 0; i < 2 && !digits.empty() && digits.back() == '='; ++i) {
      digits.pop_back();
    }
  }
  return digits.size() % 4 != 1 && std::all_of(digits.begin(), digits.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '+' || c == '/';
         });
}

enum class DataUrl { kImage, kOtherMedia, kNotBase64, kBadBase64, kMalformed };

DataUrl classify_data_url(std::string_view url) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kBase64 = ";base64";
  const size_t comma = url.find(',');
  if (!starts_with_any_case(url, kScheme) || comma == std::string_view::npos) {
    return DataUrl::kMalformed;
  }
  const std::string_view head = url.substr(kScheme.size(), comma - kScheme.size());
  std::string media(head.substr(0, head.find(';')));
  std::transform(media.begin(), media.end(), media.begin(), lower);
  const bool image = std::any_of(std::begin(kFormats), std::end(kFormats),
                                 [&](std::string_view format) { return media == format; });
  const bool base64 =
      head.size() >= kBase64.size() && head.substr(head.size() - kBase64.size()) == kBase64;
  if (!image) {
    return base64 ? DataUrl::kOtherMedia : DataUrl::kNotBase64;
  }
  if (!base64) {
    return DataUrl::kNotBase64;
  }
  return is_base64(url.substr(comma + 1)) ? DataUrl::kImage : DataUrl::kBadBase64;
}

ImagePlace place_of(size_t index) {
  const std::string message = "messages[" + std::to_string(index) + "]";
  return {.path = "." + message, .param = message + ".content"};
}

Status refuse(const ImagePlace& place, std::string_view what) {
  return invalid_argument(place.path + ": " + std::string(what)).with_param(place.param);
}

Status refuse_media(const ImagePlace& place, std::string_view what) {
  const std::string name(what);
  return refuse(place, "You have uploaded an unsupported " + name + ". Please make sure your " +
                           name +
                           " is valid and has one of the following formats: webp, png, jpeg, and "
                           "gif.");
}

constexpr std::string_view kUnsupportedUrl = "Unsupported image_url format";

}  // namespace

Result<recipe::ImageSource> read_image_url(const std::string& url, const ImagePlace& place) {
  using Kind = recipe::ImageSource::Kind;
  recipe::ImageSource image{.path = place.path, .value = url};
  if (starts_with_any_case(url, "http")) {
    image.kind = Kind::kUrl;
    return image;
  }
  image.kind = Kind::kDataUrl;
  switch (classify_data_url(url)) {
    case DataUrl::kImage:
      return image;
    case DataUrl::kOtherMedia:
      return refuse_media(place, "image");
    case DataUrl::kBadBase64:
      return refuse(place, "Invalid base64 data");
    case DataUrl::kNotBase64:
    case DataUrl::kMalformed:
      return refuse(place, kUnsupportedUrl);
  }
  return image;
}

Result<recipe::ImageSource> read_image_part(const ContentPart& part, size_t index) {
  const ImagePlace place = place_of(index);
  if (part.kind == ContentPart::Kind::kImageUrl) {
    DI_ASSIGN(recipe::ImageSource image, read_image_url(part.url, place));
    image.detail = part.detail;
    return image;
  }
  if (part.file_id && part.file_data) {
    return refuse(place, "file cannot have both file_id and file_data");
  }
  if (part.file_id && part.filename) {
    return refuse(place, "file cannot have filename when file_id is present");
  }
  if (part.file_id) {
    return refuse(place, "file_id is not supported. Pass the image as a base64 data url instead.");
  }
  if (!part.file_data) {
    return refuse(place, "file must have a file_id or file_data");
  }
  recipe::ImageSource image{.kind = recipe::ImageSource::Kind::kDataUrl,
                            .detail = part.detail,
                            .path = place.path,
                            .value = *part.file_data};
  switch (classify_data_url(*part.file_data)) {
    case DataUrl::kImage:
      return image;
    case DataUrl::kOtherMedia:
      return refuse_media(place, "file");
    case DataUrl::kNotBase64:
      return starts_with_any_case(*part.file_data, "data:image/") ? refuse(place, kUnsupportedUrl)
                                                                  : refuse_media(place, "file");
    case DataUrl::kBadBase64:
    case DataUrl::kMalformed:
      return refuse(place, "file_data is not a valid base64 data url");
  }
  return image;
}

}  // namespace deepinfer::protocol
