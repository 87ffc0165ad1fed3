#pragma once

/// Altered copies of a checkpoint in a temporary directory.

#include <functional>
#include <string>

namespace deepinfer::golden {

/// Copies `dir` to `target` (created), renaming every tensor by `rename` in shards and index.
void copy_checkpoint(const std::string& dir, const std::string& target,
                     const std::function<std::string(const std::string&)>& rename);

}  // namespace deepinfer::golden
