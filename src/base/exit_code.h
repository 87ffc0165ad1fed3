#pragma once

/// Exit status of the programs (docs/command-line.md, "Exit status").

#include "deepinfer/status.h"

namespace deepinfer::base {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitModel = 3;
inline constexpr int kExitDevice = 4;
inline constexpr int kExitStartTimeout = 5;
/// The engine failed or hangs, and the drain did not end.
inline constexpr int kExitHung = 6;
inline constexpr int kExitAddress = 7;

/// The exit status that a failure to load a model or to start leads to; 0 for OK.
int exit_code_of(const Status& failure);

}  // namespace deepinfer::base
