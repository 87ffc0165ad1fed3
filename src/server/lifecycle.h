#pragma once

/// From the bound port to the last answer: loads while probes are answered, serves, drains on
/// a signal, and says how it went as an exit status.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "deepinfer/llm.h"
#include "deepinfer/status.h"
#include "server/server.h"
#include "server/server_options.h"
#include "server/service.h"

namespace deepinfer::server {

/// `wanted` connections (at least 1), or as many as leave the rest of the process its descriptors.
int32_t connections_within(uint64_t num_descriptors, int32_t wanted);

/// What loading yields.
struct LoadedParts {
  std::unique_ptr<recipe::Recipe> recipe;
  std::unique_ptr<Llm> llm;
};
/// Loads on a thread of its own and reports phases to the service.
using Loader = std::function<Result<LoadedParts>(Service&)>;

/// Times that no flag changes; tests shorten them.
struct LifecycleTuning {
  HttpTuning http;
  /// How long probes and streams may learn of a failure before the process ends.
  std::chrono::milliseconds failure_grace{2'000};
  /// From the end of the abandon timeout to the end of the process, when the engine cannot stop.
  std::chrono::milliseconds stuck_drain_grace{3'000};
};

/// Makes the process deaf to SIGINT and SIGTERM but through `serve_until_signal`. Call first in
/// main: threads inherit it.
void block_signals();

/// Runs until a signal, a failed load or a failed engine. The port answers from the first moment.
/// A second signal ends the process at once with 128 + its number. So does a drain that is not
/// over in time, with kExitHung if the engine said that it has failed, else kExitFailure.
int serve_until_signal(const ServerOptions& options, Loader loader,
                       std::vector<Route> extra_routes = {}, const LifecycleTuning& tuning = {});

}  // namespace deepinfer::server
