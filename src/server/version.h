#pragma once

/// What `--version`, `/version` and `/health` say.

namespace deepinfer::server {

extern const char* const kVersion;
/// Short commit hash of the tree that was configured, or `unknown`.
extern const char* const kRevision;

}  // namespace deepinfer::server
