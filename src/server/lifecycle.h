#pragma once

/// From the bound port to the last answer: loads while probes are answered, serves, drains on
/// a signal, and says how it went as an exit status.

#include <functional>
#include <memory>

#include "deepinfer/llm.h"
#include "deepinfer/status.h"
#include "server/server.h"
#include "server/server_options.h"
#include "server/service.h"

namespace deepinfer::server {

/// Exit statuses (deploy contract).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitModel = 3;
inline constexpr int kExitDevice = 4;
inline constexpr int kExitStartTimeout = 5;
inline constexpr int kExitAddress = 7;

/// The exit status for a model that could not be loaded.
int exit_code_of(const Status& load_failure);

/// What loading yields.
struct LoadedParts {
  std::unique_ptr<recipe::Recipe> recipe;
  std::unique_ptr<Llm> llm;
};
/// Loads on a thread of its own and reports phases to the service.
using Loader = std::function<Result<LoadedParts>(Service&)>;

/// Makes the process deaf to SIGINT and SIGTERM but through `serve_until_signal`. Call first in
/// main: threads inherit it.
void block_signals();

/// Runs until a signal, a failed load or a failed engine. The port answers from the first moment.
/// A second signal ends the process at once with 128 + its number.
int serve_until_signal(const ServerOptions& options, Loader loader,
                       std::vector<Route> extra_routes = {});

}  // namespace deepinfer::server
