#pragma once

/// `--help`, `--help=GROUP`, `--help=all` and `--version`.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/server_options.h"

namespace deepinfer::server {

/// The answer if `arguments` ask for help or the version.
std::optional<EarlyExit> help_or_version(const std::vector<std::string>& arguments,
                                         const CLI::App& app);

}  // namespace deepinfer::server
