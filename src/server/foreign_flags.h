#pragma once

/// Words for flags that we do not have: what they are called here, or what comes closest.

#include <CLI/CLI.hpp>
#include <string>

namespace deepinfer::server {

/// The usage error for an argument that nothing took.
std::string explain_unknown(const std::string& argument, const CLI::App& app);

}  // namespace deepinfer::server
