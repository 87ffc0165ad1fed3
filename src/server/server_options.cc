#include "server/server_options.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "base/exit_code.h"
#include "server/engine_flags.h"
#include "server/flag_set.h"
#include "server/foreign_flags.h"
#include "server/option_help.h"

namespace deepinfer::server {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

// What flags fill before it is checked and combined.
struct Draft {
  ServerOptions options;
  std::string uds;
  std::string reasoning_field = "reasoning_content";
  std::string api_key_file;
  std::string config_file;
  std::vector<std::string> origins;
};

void add_served_model_flags(FlagSet& flags, CLI::App& app, Draft& draft) {
  EngineConfig& engine = draft.options.config.engine;
  flags.group("Model");
  add_model_dir(app, engine);
  flags.list("served-model-name", draft.options.config.http.served_model_names,
             "Names accepted as model; the first is reported (directory name)");
  add_model_flags(flags, engine);
  flags.only("--load-format", {"auto"}, "weights are read as the checkpoint has them (auto)");
  flags.always_on("trust-remote-code", "The model directory holds no code that is run");
  flags.always_on("enable-auto-tool-choice", "Tools are always parsed");
}

void add_server_flags(FlagSet& flags, Draft& draft) {
  HttpConfig& http = draft.options.config.http;
  flags.group("Server");
  flags.text("host", http.host, "Address to listen on; 0.0.0.0 or :: for all");
  flags.number("port", http.port, "Port; 0 = any free one, which is logged");
  flags.text("uds", draft.uds, "Listen on this Unix socket instead");
  flags.list("api-key", http.api_keys, "Key that clients must send; several allowed");
  flags.text("api-key-file", draft.api_key_file, "File with one key per line");
  flags.list("allowed-origins", draft.origins, "Origins for CORS, or a JSON list; * = all");
  flags
      .text("reasoning-field", draft.reasoning_field,
            "Name of the reasoning in chat answers: reasoning_content, reasoning or both")
      ->check(CLI::IsMember({"reasoning_content", "reasoning", "both"}));
  flags.flag("repeat-open-reasoning", draft.options.repeat_open_reasoning,
             "Reasoning that ends without its closing marker is given as content too");
  flags.number("max-request-bytes", http.max_request_bytes, "Largest request body");
  flags.number("max-buffered-bytes", http.max_buffered_bytes,
               "Bytes that all request bodies may hold together; more get 503");
  flags.number("max-connections", http.max_connections, "Open connections, idle ones included");
  flags.number("max-streams", http.max_streams, "Requests worked on at once; more get 503");
  flags.number("default-max-tokens", http.default_max_tokens,
               "Output limit of requests that name none; 0 = the protocol's");
  flags.seconds("request-timeout", http.request_timeout, "Limit of one request; 0 = none");
  flags.seconds("sse-keep-alive-interval", http.sse_keep_alive_interval,
                "Silence on a stream before a comment is sent; 0 = never");
}

void add_parallel_flags(FlagSet& flags, Draft& draft) {
  EngineConfig& engine = draft.options.config.engine;
  flags.group("Parallelism");
  add_compute_flags(flags, engine);
  flags.number("expert-parallel-size", engine.parallel.expert, "Ranks; 0 = derive");
  flags.number("data-parallel-size", engine.parallel.data, "Replicas of attention; 0 = derive");
  flags.number("context-parallel-size", engine.parallel.context, "Ranks per sequence; 0 = derive");
  flags.only("--tensor-parallel-size,--tp", {"1"},
             "there is no tensor parallelism; use --data-parallel-size or "
             "--context-parallel-size");
  flags.only("--pipeline-parallel-size", {"1"}, "there is no pipeline parallelism");
  flags.always_on("enable-expert-parallel", "Experts are always spread over the ranks");
  flags.group("Memory");
  add_memory_flags(flags, engine);
  flags.only("--kv-cache-dtype", {"auto"}, "the cache has the model's formats (auto)");
  flags.only("--dtype", {"auto", "bfloat16"}, "the checkpoint fixes the formats (auto)");
  flags.ignored("gpu-memory-utilization",
                "Share of a GPU's memory; on the CPU --kv-cache-memory-bytes counts");
}

void add_scheduler_flags(FlagSet& flags, Draft& draft) {
  SchedulerConfig& scheduler = draft.options.config.engine.scheduler;
  flags.group("Scheduler");
  add_step_flags(flags, scheduler);
  flags.number("max-num-queued-reqs", scheduler.max_num_queued_reqs,
               "Requests that may wait; more get 503");
  flags.number("max-num-queued-tokens", scheduler.max_num_queued_tokens,
               "Prompt tokens that may wait; more get 503");
  flags.always_on("enable-chunked-prefill", "Prompts are always read in chunks");
}

void add_operation_flags(FlagSet& flags, Draft& draft) {
  ServerOptions& options = draft.options;
  flags.group("Lifecycle");
  flags.seconds("startup-timeout", options.startup_timeout, "Time to get ready");
  flags.seconds("shutdown-timeout", options.config.http.shutdown_timeout,
                "Time for running requests after SIGTERM");
  flags.seconds("hang-timeout", options.config.engine.hang_timeout,
                "Longest time without progress before the engine counts as hung");
  flags.number("max-engine-restarts", options.max_engine_restarts,
               "Restarts of a dead engine within ten minutes before the server gives up");
  flags.flag("in-process", options.in_process,
             "Run the engine in the server's process; it then ends with the engine");
  flags.group("Observability");
  flags.text("log-level", options.log_level, "trace, debug, info, warning, error or off");
  flags.text("log-format", options.log_format, "text or json");
  flags.group("Tools");
  flags.text("config", draft.config_file, "TOML file; keys are flag names without dashes");
  flags.flag("dry-run", options.dry_run, "Check flags and model directory, start nothing");
  flags.flag("print-config", options.print_config, "Print the effective settings");
  flags.flag("check-health", options.check_health, "Ask a running server; exit 0 if it is ready");
}

void add_all_flags(CLI::App& app, Draft& draft) {
  app.set_help_flag();
  app.allow_extras();
  FlagSet flags(app);
  add_served_model_flags(flags, app, draft);
  add_server_flags(flags, draft);
  add_parallel_flags(flags, draft);
  add_scheduler_flags(flags, draft);
  add_operation_flags(flags, draft);
}

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().front();
}

// `--a_b=v_w` → `--a-b=v_w`.
void normalize_flag_names(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument.compare(0, 2, "--") == 0) {
      const size_t end = std::min(argument.find('='), argument.size());
      std::replace(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
    }
  }
}

EarlyExit usage_error(std::string message) {
  return {base::kExitUsage, "", std::move(message)};
}

// CLI11 takes the arguments in reverse.
std::optional<EarlyExit> parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    return usage_error(explain_unknown(extras.front(), app));
  }
  return std::nullopt;
}

// Values from one source, by flag name.
using Layer = std::map<std::string, std::vector<std::string>>;

Layer layer_of_arguments(const CLI::App& app) {
  Layer layer;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) {
      layer[name_of(*option)] = option->results();
    }
  }
  return layer;
}

std::variant<Layer, EarlyExit> layer_of_file(const std::string& path, const CLI::App& app) {
  Layer layer;
  if (path.empty()) {
    return layer;
  }
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    return usage_error(fmt::format("--config: cannot read '{}'", path));
  }
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file)) {
      if (item.name == "++" || item.name == "--") {
        continue;  // marks of a section's begin and end
      }
      std::string name = item.name;
      std::replace(name.begin(), name.end(), '_', '-');
      if (app.get_option_no_throw("--" + name) == nullptr) {
        return usage_error(fmt::format("--config: unknown key '{}' in {}", item.name, path));
      }
      layer[name] = item.inputs;
    }
  } catch (const CLI::Error& error) {
    return usage_error(fmt::format("--config: {}: {}", path, error.what()));
  }
  return layer;
}

bool is_engine_variable(const std::string& name) {
  static const std::set<std::string> kKnown = {
      "DEEPINFER_JIT_CACHE_DIR",   "DEEPINFER_USE_NEXTN_DECODE", "DEEPINFER_ENABLE_MTP_VARLEN",
      "DEEPINFER_BATCH_INVARIANT", "DEEPINFER_ENFORCE_EAGER",    "DEEPINFER_XGRAMMAR_TIMEOUT"};
  return kKnown.count(name) > 0;
}

Layer layer_of_environment(const Environment& environment, const CLI::App& app,
                           std::vector<std::string>& warnings) {
  std::map<std::string, std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names[variable_of(name_of(*option))] = name_of(*option);
  }
  Layer layer;
  for (const auto& [variable, value] : environment) {
    if (const auto found = names.find(variable); found != names.end()) {
      layer[found->second] = {value};
    } else if (variable.compare(0, 10, "DEEPINFER_") == 0 && !is_engine_variable(variable)) {
      warnings.push_back(fmt::format("{}: no such setting", variable));
    }
  }
  return layer;
}

// An empty key is more likely a secret that did not arrive than the wish for none.
std::optional<EarlyExit> refuse_empty_keys(const Layer& layer,
                                           const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto at = layer.find(name);
    if (at != layer.end() && std::count(at->second.begin(), at->second.end(), "") > 0) {
      return usage_error(fmt::format(
          "--{}: an empty value would admit everybody; leave the setting out for that", name));
    }
  }
  return std::nullopt;
}

// Adds what `layer` sets and no stronger source did, as arguments. An empty value sets nothing.
void add_arguments(const Layer& layer, const std::string& source,
                   std::map<std::string, std::string>& origins,
                   std::vector<std::string>& arguments) {
  for (const auto& [name, values] : layer) {
    const bool empty = std::all_of(values.begin(), values.end(),
                                   [](const std::string& value) { return value.empty(); });
    if (empty || !origins.emplace(name, source).second) {
      continue;
    }
    for (const std::string& value : values) {
      arguments.push_back(fmt::format("--{}={}", name, value));
    }
  }
}

// Bytes that are no UTF-8 (paths may hold some) are shown as U+FFFD.
std::string toml_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string toml_value(const CLI::Option& option) {
  const auto results = option.reduced_results();
  if (option.get_items_expected_max() > 1 ||
      option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll) {
    return toml_text(results);
  }
  const std::string text = results.empty() ? option.get_default_str() : results.back();
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  return toml_text(parsed.is_number() || parsed.is_boolean() ? parsed : nlohmann::json(text));
}

std::vector<Setting> effective_settings(const CLI::App& app,
                                        const std::map<std::string, std::string>& origins) {
  std::vector<Setting> settings;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = name_of(*option);
    const auto origin = origins.find(name);
    const bool secret = name == "api-key";
    if ((secret || option->get_group() == kForeignGroup) && origin == origins.end()) {
      continue;
    }
    settings.push_back(
        {name, secret ? fmt::format("\"({} hidden)\"", option->count()) : toml_value(*option),
         origin == origins.end() ? "default" : origin->second, option->get_group()});
  }
  return settings;
}

std::optional<EarlyExit> read_key_file(const std::string& path, std::vector<std::string>& keys) {
  std::ifstream file(path);
  if (!file) {
    return usage_error(fmt::format("--api-key-file: cannot read '{}'", path));
  }
  static constexpr std::string_view kBlank = " \t\r";
  for (std::string line; std::getline(file, line);) {
    // Blanks at the ends of a header's value do not arrive either.
    line.erase(line.find_last_not_of(kBlank) + 1);
    line.erase(0, line.find_first_not_of(kBlank));
    if (!line.empty()) {
      keys.push_back(line);
    }
  }
  return keys.empty() ? std::optional(usage_error("--api-key-file: holds no key")) : std::nullopt;
}

// CLI11 has split a JSON list already; its items still carry their quotes.
std::vector<std::string> parsed_origins(const std::vector<std::string>& values) {
  std::vector<std::string> origins;
  for (const std::string& value : values) {
    const auto quoted = nlohmann::json::parse(value, nullptr, false);
    origins.push_back(quoted.is_string() ? quoted.get<std::string>() : value);
  }
  return origins;
}

// The last component that is a name, also of `dir/` and `.`.
std::string directory_name(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error).lexically_normal();
  const auto named = full.has_filename() ? full : full.parent_path();
  return named.has_filename() ? named.filename().string() : "model";
}

// The CPU counts as one device.
std::optional<EarlyExit> resolve_ranks(ParallelConfig& parallel) {
  constexpr int32_t kDevices = 1;
  const auto resolved = resolve_parallel(parallel, kDevices);
  if (!resolved) {
    return usage_error(resolved.error().message());
  }
  if (resolved->expert > kDevices) {
    return usage_error(fmt::format(
        "--expert-parallel-size: {} ranks are asked for, but there is {} device; the sizes that "
        "work are 0 and 1",
        resolved->expert, kDevices));
  }
  parallel = *resolved;
  return std::nullopt;
}

std::optional<EarlyExit> complete(Draft& draft) {
  ServerConfig& config = draft.options.config;
  if (!draft.uds.empty()) {
    config.http.host = "unix:" + draft.uds;
  }
  if (!draft.api_key_file.empty()) {
    if (auto exit = read_key_file(draft.api_key_file, config.http.api_keys)) {
      return exit;
    }
  }
  config.http.allowed_origins = parsed_origins(draft.origins);
  draft.options.reasoning_fields = {draft.reasoning_field};
  if (draft.reasoning_field == "both") {
    draft.options.reasoning_fields = {"reasoning_content", "reasoning"};
  }
  if (draft.options.check_health) {
    return std::nullopt;
  }
  if (const Status status = validate(config); !status.is_ok()) {
    return usage_error(status.message());
  }
  const auto& names = config.http.served_model_names;
  if (std::count(names.begin(), names.end(), "") > 0) {
    return usage_error("--served-model-name: a name has at least one character");
  }
  if (config.http.served_model_names.empty()) {
    config.http.served_model_names.push_back(directory_name(config.engine.model_dir));
  }
  return resolve_ranks(config.engine.parallel);
}

}  // namespace

std::variant<ServerOptions, EarlyExit> parse_options(std::vector<std::string> arguments,
                                                     const Environment& environment) {
  normalize_flag_names(arguments);
  Draft given;
  CLI::App first("deepinfer-server");
  add_all_flags(first, given);
  if (auto exit = help_or_version(arguments, first)) {
    return *exit;
  }
  if (auto exit = parse(first, arguments)) {
    return *exit;
  }
  std::vector<std::string> warnings;
  Layer variables = layer_of_environment(environment, first, warnings);
  if (given.config_file.empty() && variables.count("config") > 0) {
    given.config_file = variables["config"].front();
  }
  auto file = layer_of_file(given.config_file, first);
  if (const auto* exit = std::get_if<EarlyExit>(&file)) {
    return *exit;
  }
  if (auto exit = refuse_empty_keys(variables, {"api-key", "api-key-file"})) {
    return *exit;
  }
  // A printed configuration names the file of keys even if there is none.
  if (auto exit = refuse_empty_keys(std::get<Layer>(file), {"api-key"})) {
    return *exit;
  }
  std::map<std::string, std::string> origins;
  for (const auto& [name, values] : layer_of_arguments(first)) {
    origins[name] = "command line";
  }
  add_arguments(std::get<Layer>(file), "file", origins, arguments);
  add_arguments(variables, "environment", origins, arguments);

  Draft draft;
  CLI::App second("deepinfer-server");
  add_all_flags(second, draft);
  if (auto exit = parse(second, arguments)) {
    return *exit;
  }
  draft.options.settings = effective_settings(second, origins);
  draft.options.warnings = std::move(warnings);
  if (auto exit = complete(draft)) {
    return *exit;
  }
  return std::move(draft.options);
}

std::string config_text(const std::vector<Setting>& settings) {
  std::string text;
  std::string group;
  for (const Setting& setting : settings) {
    if (setting.group != group) {
      group = setting.group;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", group);
    }
    text += fmt::format("{} = {}  # {}\n", setting.name, setting.value, setting.origin);
  }
  return text;
}

}  // namespace deepinfer::server
