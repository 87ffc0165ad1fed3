#pragma once

/// Broken invariants: bugs of ours, never reachable from outside input.

namespace deepinfer::base {

/// Prints the condition and place to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace deepinfer::base

/// Aborts with the location when `condition` is false, in every build type.
#define DI_CHECK(condition)                            \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::deepinfer::base::check_failed(#condition, __FILE__, __LINE__))
