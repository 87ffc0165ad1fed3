#pragma once

/// `deepinfer-cli generate MODEL_DIR`: offline batch inference over JSON lines.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iosfwd>
#include <string>

#include "deepinfer/config.h"
#include "deepinfer/llm.h"
#include "recipe/recipe.h"

namespace deepinfer::cli {

/// Declares the subcommand; `exit_code` receives its result when it was run.
void add_generate_command(CLI::App& app, int& exit_code);

/// Reads every line of `in` (blank ones are skipped), runs them all through `llm` with at most
/// `max_in_flight` at a time, and writes one answer per line to `out`, in the order of the input.
/// A progress bar goes to `terminal` if it is not null. Returns the number of failed lines.
int64_t generate_lines(std::istream& in, std::ostream& out, std::FILE* terminal, Llm& llm,
                       const recipe::Recipe& recipe, int32_t max_in_flight);

}  // namespace deepinfer::cli
