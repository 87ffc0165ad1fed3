#pragma once

/// What a rank is asked to do by other threads.

#include <memory>
#include <optional>
#include <variant>

#include "base/channel.h"
#include "base/clock.h"
#include "base/output_queue.h"
#include "constraint/constraint.h"
#include "deepinfer/request.h"
#include "scheduler/sequence.h"

namespace deepinfer::scheduler {

/// A validated and admitted request.
struct SubmitCommand {
  SequenceId id = 0;
  GenerateRequest request;
  /// The compiled form of the request's constraint.
  std::optional<constraint::CompiledConstraint> constraint;
  uint64_t seed = 0;
  base::TimePoint submitted;
  std::shared_ptr<base::OutputQueue> output;
};
/// The client does not want the rest.
struct CancelCommand {
  SequenceId id = 0;
};
/// Ends every request.
struct AbortAllCommand {};
/// Another rank was given work: all take part in its steps.
struct WakeCommand {};
using RankCommand = std::variant<SubmitCommand, CancelCommand, AbortAllCommand, WakeCommand>;
using RankInbox = base::Channel<RankCommand>;

}  // namespace deepinfer::scheduler
