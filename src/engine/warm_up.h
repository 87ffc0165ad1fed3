#pragma once

/// The step that needs the most work space, to be run once before there are clients.

#include "deepinfer/config.h"
#include "engine/batch.h"
#include "engine/executor.h"

namespace deepinfer::engine {

/// As many decoding sequences as fit, each sampling, and the last chunk of a prompt as long as
/// the caches hold beside them, together `max_num_batched_tokens` tokens if there is room for
/// them. Work space only grows, so a step that the scheduler plans later needs no more. What
/// the step leaves in the caches is never read: sequences start from an empty state.
Batch largest_step(const ExecutorCapacity& capacity, const SchedulerConfig& limits);

}  // namespace deepinfer::engine
