#pragma once

/// JSON files of a model directory, with errors that name the file.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::model {

using Json = nlohmann::json;

/// Parses `text`; `what` names it in the message. kFailedPrecondition if it is not JSON or names
/// a member twice: two readers could then see two models.
Result<Json> parse_json(std::string_view text, const std::string& what);

/// Reads and parses a file of at most 1 GiB. kNotFound if it does not exist,
/// kFailedPrecondition if it cannot be read, is a Git LFS pointer or is not JSON.
Result<Json> read_json_file(const std::string& path);

/// A value for messages, shortened.
std::string describe(const Json& value);

/// Whether the bytes are a Git LFS pointer left in place of the real file.
bool is_lfs_pointer(std::string_view bytes);

}  // namespace deepinfer::model
