#include "cli/recipe_command.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "base/exit_code.h"
#include "cli/recipe_kinds.h"
#include "recipe/json_reader.h"
#include "recipe/tokenizer.h"

namespace deepinfer::cli {
namespace {

using recipe::Json;

Json answer(const std::string& line, const std::string& kind, const RecipeKinds& kinds) {
  Json result = Json::object();
  // Cases quote bodies as text; deeper lines hold nothing that a kind takes.
  const auto read = recipe::read_json(line, {.max_depth = recipe::kMaxJsonDepth});
  if (!read || !read->is_object()) {
    result["id"] = nullptr;
    result["error"] = read ? "the line is not a JSON object" : read.error().message();
    return result;
  }
  const Json& parsed = *read;
  result["id"] = parsed.value("id", Json());
  if (!parsed.contains("input") || !parsed["input"].is_object()) {
    result["error"] = "the line has no `input` object";
    return result;
  }
  auto output = kinds.run(kind, parsed["input"]);
  if (output) {
    result["output"] = std::move(*output);
  } else {
    result["error"] = output.error().message();
  }
  return result;
}

}  // namespace

int run_recipe_command(const RecipeCommand& command, std::istream& in, std::ostream& out) {
  std::unique_ptr<recipe::Tokenizer> tokenizer;
  if (!command.tokenizer.empty()) {
    const std::filesystem::path path(command.tokenizer);
    const std::filesystem::path dir =
        std::filesystem::is_directory(path) ? path : path.parent_path();
    auto loaded = recipe::Tokenizer::load(dir.empty() ? "." : dir.string());
    if (!loaded) {
      std::fprintf(stderr, "%s\n", loaded.error().message().c_str());
      return base::exit_code_of(loaded.error());
    }
    tokenizer = std::move(*loaded);
  }
  const RecipeKinds kinds(tokenizer.get(), command.policy == "server"
                                               ? protocol::RecipePolicy::server()
                                               : protocol::RecipePolicy::reference());
  std::string line;
  while (std::getline(in, line)) {
    out << answer(line, command.kind, kinds).dump(-1, ' ', false, Json::error_handler_t::replace)
        << '\n'
        << std::flush;
  }
  return base::kExitOk;
}

void add_recipe_command(CLI::App& app, const std::string& default_tokenizer, int& exit_code_out) {
  auto command = std::make_shared<RecipeCommand>();
  command->tokenizer = default_tokenizer;
  CLI::App* sub = app.add_subcommand(
      "recipe", "Answer recorded cases of the recipe layer, one JSON object a line");
  sub->add_option("kind", command->kind, "What the lines hold, for example chat-convert")
      ->required();
  sub->add_option("--policy", command->policy, "Whose behaviour to show")
      ->check(CLI::IsMember({"reference", "server"}))
      ->capture_default_str();
  sub->add_option("--tokenizer", command->tokenizer,
                  "A tokenizer.json or its folder (DEEPINFER_TOKENIZER)");
  sub->callback([command, &exit_code_out] {
    exit_code_out = run_recipe_command(*command, std::cin, std::cout);
  });
}

}  // namespace deepinfer::cli
