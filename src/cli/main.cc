/// deepinfer-cli: work with a model without a server.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/exit_code.h"
#include "cli/generate_command.h"
#include "cli/inspect_command.h"
#include "cli/recipe_command.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Work with a model offline: answer a file of requests, look at a checkpoint.",
               "deepinfer-cli");
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->ignore_underscore();
  int exit_code = 0;
  deepinfer::cli::add_generate_command(app, exit_code);
  deepinfer::cli::add_inspect_command(app, exit_code);
  const char* tokenizer = std::getenv("DEEPINFER_TOKENIZER");
  deepinfer::cli::add_recipe_command(app, tokenizer == nullptr ? "" : tokenizer, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11's own codes are 100 and up; --help is 0.
    return app.exit(error) == 0 ? deepinfer::base::kExitOk : deepinfer::base::kExitUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deepinfer-cli: %s\n", error.what());
    return deepinfer::base::kExitFailure;
  }
}
