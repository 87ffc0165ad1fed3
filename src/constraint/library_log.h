#pragma once

/// What the grammar library says while it works.

#include <optional>
#include <string>

namespace deepinfer::constraint {

/// Collects the library's warnings of this thread while it lives: a warning means that part of a
/// constraint was passed over. Not nested.
class WarningGuard {
 public:
  WarningGuard();
  ~WarningGuard();
  WarningGuard(const WarningGuard&) = delete;
  WarningGuard& operator=(const WarningGuard&) = delete;

  /// The first warning.
  const std::optional<std::string>& first() const { return first_; }

 private:
  friend struct WarningSink;
  std::optional<std::string> first_;
};

}  // namespace deepinfer::constraint
