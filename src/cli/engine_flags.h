#pragma once

/// Flags that the commands which open an engine have in common. Spelling and meaning are those
/// of deepinfer-server.

#include <CLI/CLI.hpp>

#include "deepinfer/config.h"

namespace deepinfer::cli {

/// `MODEL_DIR` as positional argument or `--model`, and `--tokenizer`.
void add_model_flags(CLI::App& app, EngineConfig& config);

/// Kernels, threads, memory and scheduler limits.
void add_engine_flags(CLI::App& app, EngineConfig& config);

}  // namespace deepinfer::cli
