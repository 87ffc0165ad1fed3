#pragma once

/// Image parts of chat messages (recipe spec §3, "Messages").

#include <string>

#include "deepinfer/status.h"
#include "protocol/chat/chat_request.h"

namespace deepinfer::protocol {

/// The image source of an image or file part of message `index`.
Result<recipe::ImageSource> read_image_part(const ContentPart& part, size_t index);

}  // namespace deepinfer::protocol
