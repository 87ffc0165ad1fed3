#pragma once

/// Exit status of the commands (docs/command-line.md).

#include "deepinfer/status.h"

namespace deepinfer::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitModel = 3;
inline constexpr int kExitDevice = 4;

/// The exit status that a failure to start leads to.
int exit_code(const Status& status);

}  // namespace deepinfer::cli
