#pragma once

/// Which kernel variants this machine can run, and the op table made of them.

#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "kernels/ops.h"

namespace deepinfer::kernels {

/// One set of kernels for one instruction set.
struct Variant {
  std::string_view name;
  /// CPU and operating system both support it.
  bool supported = false;
  /// What is missing, when it is not (`avx512vl`); for messages and skipped tests.
  std::string_view missing;
  /// Sets the slots the variant offers and leaves the others alone.
  void (*fill)(OpTable&) = nullptr;
};

/// Every CPU variant of this build, slowest first; `reference` is the first.
const std::vector<Variant>& cpu_variants();

/// An op table and where each slot came from.
struct SelectedOps {
  OpTable ops;
  /// (op, variant) in the table's order, for the start-up log.
  std::vector<std::pair<std::string_view, std::string_view>> origin;
  /// Name of the fastest variant in use.
  std::string_view variant;
};

/// Overlays the supported variants, up to and including `forced` when it is not empty.
/// kInvalidArgument if `forced` is unknown or not supported here: never a silent fallback.
Result<SelectedOps> select_cpu_ops(std::string_view forced);

}  // namespace deepinfer::kernels
