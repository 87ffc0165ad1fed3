#pragma once

/// `deepinfer-cli recipe KIND`: the recipe layer as a line protocol, for checking it against
/// recorded cases and against the reference library.

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

namespace deepinfer::cli {

struct RecipeCommand {
  /// `chat-convert`, `chat-stream` (also `messages-` and `responses-`), `max-tokens`, `render`,
  /// `encode`, `tokenize`, `detokenize`.
  std::string kind;
  /// `reference` or `server`.
  std::string policy = "reference";
  /// A tokenizer.json or its folder; empty for none.
  std::string tokenizer;
};

/// Declares the subcommand; `default_tokenizer` may be empty; `exit_code` receives the result
/// when it was run.
void add_recipe_command(CLI::App& app, const std::string& default_tokenizer, int& exit_code);

/// Reads `{"id", "input"}` lines and answers each at once with `{"id", "output"}` or
/// `{"id", "error"}`, in order, until the end of `in`. A bad line never ends it. Returns an
/// exit status; only a tokenizer that cannot be read is a failure.
int run_recipe_command(const RecipeCommand& command, std::istream& in, std::ostream& out);

}  // namespace deepinfer::cli
