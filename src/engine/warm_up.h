#pragma once

/// The steps that need the most work space, to be run once before there are clients.

#include <vector>

#include "deepinfer/config.h"
#include "engine/batch.h"
#include "engine/executor.h"

namespace deepinfer::engine {

/// The steps that together grow every work space to its final size: one with as few and one with
/// as many sequences as fill `max_num_batched_tokens`, or as the caches hold. The last sequence of
/// each is as long as the blocks beside the others allow. All of them sample.
/// Work space only grows, so a step that the scheduler plans later needs no more. What the steps
/// leave in the caches is never read: sequences start from an empty state.
std::vector<Batch> largest_steps(const ExecutorCapacity& capacity, const SchedulerConfig& limits);

}  // namespace deepinfer::engine
