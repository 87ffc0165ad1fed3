#pragma once

/// Image parts of chat messages (recipe spec §3, "Messages").

#include <string>

#include "deepinfer/status.h"
#include "protocol/chat/chat_request.h"

namespace deepinfer::protocol {

/// Where an image stands in a request.
struct ImagePlace {
  /// In the words of errors, and kept with the image.
  std::string path;
  /// The member, for clients.
  std::string param;
};

/// The image source of a URL, which may hold the image itself.
Result<recipe::ImageSource> read_image_url(const std::string& url, const ImagePlace& place);

/// The image source of an image or file part of message `index`.
Result<recipe::ImageSource> read_image_part(const ContentPart& part, size_t index);

}  // namespace deepinfer::protocol
