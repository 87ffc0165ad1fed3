#include "server/option_help.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/exit_code.h"
#include "server/flag_set.h"
#include "server/version.h"

namespace deepinfer::server {
namespace {

constexpr std::array<std::string_view, 15> kCommon = {"model",
                                                      "served-model-name",
                                                      "max-model-len",
                                                      "host",
                                                      "port",
                                                      "api-key-file",
                                                      "max-num-seqs",
                                                      "max-num-batched-tokens",
                                                      "kv-cache-memory-bytes",
                                                      "num-threads",
                                                      "request-timeout",
                                                      "shutdown-timeout",
                                                      "log-level",
                                                      "config",
                                                      "dry-run"};

constexpr std::string_view kUsage = "Usage: deepinfer-server MODEL_DIR [options]\n\n";

std::string line_of(const CLI::Option& option) {
  const std::string& name = option.get_lnames().front();
  const std::string value = option.get_expected_max() == 0 ? "" : option.get_type_name();
  std::string spelling = fmt::format("--{} {}", name, value);
  if (name == "model") {
    spelling = "MODEL_DIR, --model DIR";
  }
  const std::string& standard = option.get_default_str();
  return fmt::format("  {:<34} {}{} {}\n", spelling, option.get_description(),
                     standard.empty() ? "" : fmt::format(" [{}]", standard), variable_of(name));
}

std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  return groups;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string common_help(const CLI::App& app) {
  std::string text(kUsage);
  for (const std::string_view name : kCommon) {
    text += line_of(*app.get_option("--" + std::string(name)));
  }
  text += "\nMore with --help=all or --help=GROUP:";
  for (const std::string& group : groups_of(app)) {
    text += " " + lower(group);
  }
  return text + "\n";
}

std::string group_help(const CLI::App& app, const std::string& group) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == group) {
      text += line_of(*option);
    }
  }
  return fmt::format("{}:\n{}\n", group, text);
}

EarlyExit help_about(const std::string& topic, const CLI::App& app) {
  std::string text;
  for (const std::string& group : groups_of(app)) {
    if (topic == "all" || lower(group) == lower(topic)) {
      text += group_help(app, group);
    }
  }
  if (text.empty()) {
    return {base::kExitUsage, "",
            fmt::format("--help: '{}' is not a group; --help names them", topic)};
  }
  return {0, std::string(kUsage) + text, ""};
}

}  // namespace

std::optional<EarlyExit> help_or_version(const std::vector<std::string>& arguments,
                                         const CLI::App& app) {
  static constexpr std::string_view kTopic = "--help=";
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      return EarlyExit{0, common_help(app), ""};
    }
    if (argument.compare(0, kTopic.size(), kTopic) == 0) {
      return help_about(argument.substr(kTopic.size()), app);
    }
    if (argument == "--version") {
      return EarlyExit{0, fmt::format("deepinfer-server {} ({}, CPU)\n", kVersion, kRevision), ""};
    }
  }
  return std::nullopt;
}

}  // namespace deepinfer::server
