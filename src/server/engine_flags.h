#pragma once

/// Flags of the engine, declared once for every program that opens one.

#include <CLI/CLI.hpp>

#include "deepinfer/config.h"
#include "server/flag_set.h"

namespace deepinfer::server {

/// `MODEL_DIR` as positional argument or `--model`, in the group "Model"; the last one counts.
CLI::Option* add_model_dir(CLI::App& app, EngineConfig& config);

/// Files and limits of the model: `--tokenizer`, `--max-model-len`, `--seed`.
void add_model_flags(FlagSet& flags, EngineConfig& config);

/// `--device`, `--num-threads`, `--kernel-variant`.
void add_compute_flags(FlagSet& flags, EngineConfig& config);

/// `--kv-cache-memory-bytes`, `--block-size`.
void add_memory_flags(FlagSet& flags, EngineConfig& config);

/// What one step may hold: `--max-num-seqs`, `--max-num-batched-tokens`, `--prefill-chunk-tokens`.
void add_step_flags(FlagSet& flags, SchedulerConfig& config);

/// All of the above in their groups, the model directory required: commands without a server.
void add_engine_flags(CLI::App& app, EngineConfig& config);

}  // namespace deepinfer::server
