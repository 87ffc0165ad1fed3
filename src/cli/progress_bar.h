#pragma once

/// A line on a terminal that shows how far a batch has come.

#include <cstdio>
#include <string>

#include "base/clock.h"
#include "cli/batch_runner.h"

namespace deepinfer::cli {

/// The bar as text, without control characters:
/// `[#####     ] 12/24 requests, 345 tokens, 56.7 tokens/s`.
std::string progress_text(const BatchProgress& progress, double elapsed_s);

/// Redraws itself in place at most ten times a second. Draws nothing when `terminal` is null.
class ProgressBar {
 public:
  ProgressBar(std::FILE* terminal, const base::Clock& clock);

  void update(const BatchProgress& progress);
  /// Draws the last state and ends the line.
  void finish();

 private:
  void draw(base::TimePoint now);

  std::FILE* terminal_;
  const base::Clock& clock_;
  const base::TimePoint start_;
  base::TimePoint next_draw_;
  BatchProgress progress_;
};

}  // namespace deepinfer::cli
