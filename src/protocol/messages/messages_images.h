#pragma once

/// Images in Messages content (recipe spec §9).

#include <string>

#include "deepinfer/status.h"
#include "protocol/messages/messages_request.h"

namespace deepinfer::protocol {

/// The source of an image. `path` is where it came from; errors begin with `place`.
Result<recipe::ImageSource> read_messages_image(const MessagesImage& image, const std::string& path,
                                                const std::string& place);

}  // namespace deepinfer::protocol
