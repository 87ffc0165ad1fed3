#pragma once

/// The main of the engine process.

#include <functional>
#include <memory>

#include "deepinfer/llm.h"

namespace deepinfer::process {

/// Makes the engine that is served; `Llm::open` in production. Its streams tell of output
/// (`OutputStream::on_output`).
using EngineFactory = std::function<Result<std::unique_ptr<Llm>>(const EngineConfig&)>;

/// Reads what to load from the socket `fd`, opens it, serves the front process and returns an
/// exit status once that has asked to stop. When the front goes away, so does this process, at
/// once.
int run_engine_host(int fd, const EngineFactory& open);

}  // namespace deepinfer::process
