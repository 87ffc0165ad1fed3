#pragma once

/// `deepinfer-cli inspect MODEL_DIR`: what a checkpoint is, what it weighs, what it needs in
/// memory and what is wrong with it.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/checkpoint_report.h"
#include "deepinfer/config.h"

namespace deepinfer::cli {

/// Declares the subcommand; `exit_code` receives its result when it was run: 0, or 3 if the
/// checkpoint cannot be served.
void add_inspect_command(CLI::App& app, int& exit_code);

/// The report as text for people. The memory plan is that of `engine`, for a machine on which
/// `available_bytes` are free.
std::string format_report(const CheckpointReport& report, const EngineConfig& engine,
                          int64_t available_bytes);

}  // namespace deepinfer::cli
