/// `deepinfer-server`: the only file of the front end that knows the real engine.

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/exit_code.h"
#include "base/log.h"
#include "deepinfer/llm.h"
#include "model/model_config.h"
#include "process/engine_host.h"
#include "process/engine_process.h"
#include "process/remote_llm.h"
#include "recipe/recipe.h"
#include "server/health_probe.h"
#include "server/lifecycle.h"
#include "server/server_options.h"

namespace deepinfer::server {
namespace {

std::vector<std::pair<std::string, std::string>> environment_pairs() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

Result<std::unique_ptr<recipe::Recipe>> load_recipe(const EngineConfig& config) {
  DI_ASSIGN(auto recipe, recipe::Recipe::make(config.model_dir, config.tokenizer_dir.empty()
                                                                    ? config.model_dir
                                                                    : config.tokenizer_dir));
  if (!recipe->has_chat_tokens()) {
    DI_LOG_WARN("the tokenizer has no chat tokens; they are spelled as plain text");
  }
  return recipe;
}

// The argument that makes this program the engine process. No flag: nobody types it.
constexpr std::string_view kEngineArgument = "engine-process";

Result<std::unique_ptr<Llm>> open_engine(const ServerOptions& options) {
  if (options.in_process) {
    return Llm::open(options.config.engine);
  }
  return process::RemoteLlm::open({.command = {"/proc/self/exe", std::string(kEngineArgument)},
                                   .start = {.engine = options.config.engine,
                                             .log_level = options.log_level,
                                             .log_format = options.log_format},
                                   .max_restarts = options.max_engine_restarts,
                                   .startup_timeout = options.startup_timeout,
                                   .hang_timeout = options.config.engine.hang_timeout});
}

int run_engine_process() {
  process::die_with_parent();
  return process::run_engine_host(process::kEngineSocket, &Llm::open);
}

Result<LoadedParts> load(const ServerOptions& options, Service& service) {
  LoadedParts parts;
  DI_ASSIGN(parts.recipe, load_recipe(options.config.engine));
  service.set_phase(Phase::kWeights);
  DI_ASSIGN(parts.llm, open_engine(options));
  return parts;
}

// `code`, unless what was printed did not arrive.
int printed(int code) {
  return std::fflush(stdout) == 0 || code != base::kExitOk ? code : base::kExitFailure;
}

// Everything that can be checked without reading weights.
int dry_run(const EngineConfig& config) {
  Status status = model::load_model_config(config.model_dir).status();
  if (status.is_ok()) {
    status = load_recipe(config).status();
  }
  if (!status.is_ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return base::exit_code_of(status);
  }
  std::printf("ok\n");
  return printed(base::kExitOk);
}

int check_health(const HttpConfig& config) {
  const Status status = probe_health(config);
  if (!status.is_ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
  }
  return status.is_ok() ? 0 : 1;
}

int run(const ServerOptions& options) {
  if (const Status status = base::configure_logging(options.log_level, options.log_format);
      !status.is_ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return base::kExitUsage;
  }
  if (options.check_health) {
    return check_health(options.config.http);
  }
  if (options.print_config) {
    std::fputs(config_text(options.settings).c_str(), stdout);
    return printed(base::kExitOk);
  }
  if (options.dry_run) {
    return dry_run(options.config.engine);
  }
  return serve_until_signal(options,
                            [&options](Service& service) { return load(options, service); });
}

}  // namespace
}  // namespace deepinfer::server

int main(int argc, char** argv) {
  namespace server = deepinfer::server;
  try {
    server::block_signals();
    if (argc == 2 && argv[1] == server::kEngineArgument) {
      return server::run_engine_process();
    }
    const auto parsed = server::parse_options({argv + 1, argv + argc}, server::environment_pairs());
    if (const auto* exit = std::get_if<server::EarlyExit>(&parsed)) {
      std::fputs(exit->standard_output.c_str(), stdout);
      const int code = server::printed(exit->code);
      if (!exit->standard_error.empty()) {
        std::fprintf(stderr, "%s\n", exit->standard_error.c_str());
      }
      return code;
    }
    return server::run(std::get<server::ServerOptions>(parsed));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deepinfer-server: %s\n", error.what());
    return deepinfer::base::kExitFailure;
  }
}
