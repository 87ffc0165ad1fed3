#pragma once

/// The command line of `deepinfer-server`: flags, their environment variables and the
/// configuration file, turned into one checked configuration.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deepinfer/config.h"

namespace deepinfer::server {

/// One effective setting, for the log and `--print-config`.
struct Setting {
  /// Flag name without dashes.
  std::string name;
  /// As TOML: `256`, `"auto"`, `["a", "b"]`. Secrets are counted, never shown.
  std::string value;
  /// `command line`, `file`, `environment` or `default`.
  std::string origin;
  std::string group;
};

struct ServerOptions {
  ServerConfig config;
  /// Members of a chat answer that carry its reasoning.
  std::vector<std::string> reasoning_fields = {"reasoning_content"};
  /// Reasoning that ends by itself without its marker is given as content too.
  bool repeat_open_reasoning = false;
  std::string log_level = "info";
  std::string log_format = "text";
  std::chrono::milliseconds startup_timeout{3'600'000};
  /// Runs the engine in this process instead of a child.
  bool in_process = false;
  /// Restarts of a dead or hung engine within ten minutes before the server gives up.
  int32_t max_engine_restarts = 3;
  bool dry_run = false;
  bool print_config = false;
  bool check_health = false;
  std::vector<Setting> settings;
  /// Things worth a warning once logging works: variables that no flag has, flags without effect.
  std::vector<std::string> warnings;
};

/// The process is to end at once: help, version or a usage error.
struct EarlyExit {
  int code = 0;
  std::string standard_output;
  /// One line, the flag first.
  std::string standard_error;
};

/// `arguments` are those behind the program's name, `environment` holds (name, value) pairs.
/// Command line beats file beats environment beats default. Reads the files that flags name,
/// nothing else.
std::variant<ServerOptions, EarlyExit> parse_options(
    std::vector<std::string> arguments,
    const std::vector<std::pair<std::string, std::string>>& environment);

/// `--print-config`: the settings as a configuration file, each with its origin.
std::string config_text(const std::vector<Setting>& settings);

}  // namespace deepinfer::server
