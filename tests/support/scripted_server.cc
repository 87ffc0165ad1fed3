/// `scripted-server`: the real front end over a scripted engine, for end-to-end tests.
///
///     scripted-server MODEL_DIR --scenario FILE [--load-ms N] [flags of deepinfer-server]
///
/// MODEL_DIR needs config.json and tokenizer.json only. `--max-num-seqs` and
/// `--max-num-queued-reqs` bound the engine. `GET /test/stats` tells what the engine saw;
/// `POST /test/fail-engine` makes it report a fault.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/exit_code.h"
#include "base/log.h"
#include "constraint/constraint.h"
#include "recipe/recipe.h"
#include "server/lifecycle.h"
#include "server/server_options.h"
#include "support/scripted_llm.h"
#include "support/scripted_scenario.h"

namespace deepinfer::testing {
namespace {

using server::Exchange;

// Takes `--name VALUE` out of the arguments.
std::string take_option(std::vector<std::string>& arguments, const std::string& name) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == name) {
      std::string value = arguments[i + 1];
      const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
      arguments.erase(first, first + 2);
      return value;
    }
  }
  return {};
}

struct Setup {
  server::ServerOptions options;
  std::string scenario;
  std::chrono::milliseconds load_time{0};
  std::atomic<ScriptedLlm*> llm{nullptr};
};

std::shared_ptr<constraint::ConstraintCompiler> make_compiler(const recipe::Tokenizer& tokenizer,
                                                              const ModelInfo& model) {
  constraint::Vocabulary vocabulary{.tokens = {}, .stop_tokens = model.eos_token_ids};
  for (TokenId id = 0; id < model.vocab_size; ++id) {
    vocabulary.tokens.emplace_back(tokenizer.is_special(id) ? std::string_view()
                                                            : tokenizer.token_bytes(id));
  }
  return std::make_shared<constraint::ConstraintCompiler>(vocabulary,
                                                          constraint::CompilerOptions{});
}

Result<server::LoadedParts> load(Setup& setup, server::Service& service) {
  const EngineConfig& engine = setup.options.config.engine;
  server::LoadedParts parts;
  DI_ASSIGN(parts.recipe, recipe::Recipe::make(engine.model_dir, engine.tokenizer_dir.empty()
                                                                     ? engine.model_dir
                                                                     : engine.tokenizer_dir));
  service.set_phase(server::Phase::kWeights);
  std::this_thread::sleep_for(setup.load_time);
  const recipe::Tokenizer& tokenizer = parts.recipe->tokenizer();
  DI_ASSIGN(auto script_for, parse_scenario(setup.scenario, tokenizer));
  const ModelInfo model{.vocab_size = tokenizer.vocab_size(),
                        .max_model_len = engine.max_model_len == 0 ? 65536 : engine.max_model_len,
                        .eos_token_ids = {parts.recipe->control().eos},
                        .system_fingerprint = "scripted"};
  const ScriptedLimits limits{.max_running = engine.scheduler.max_num_seqs,
                              .max_waiting = engine.scheduler.max_num_queued_reqs};
  auto llm = std::make_unique<ScriptedLlm>(model, limits, std::move(script_for),
                                           make_compiler(tokenizer, model));
  setup.llm.store(llm.get());
  parts.llm = std::move(llm);
  return parts;
}

void answer_stats(const Setup& setup, httplib::Response& res) {
  ScriptedCounts counts;
  if (const ScriptedLlm* llm = setup.llm.load()) {
    counts = llm->counts();
  }
  const nlohmann::json body = {
      {"running", counts.running},     {"waiting", counts.waiting},
      {"submitted", counts.submitted}, {"finished", counts.finished},
      {"cancelled", counts.cancelled}, {"cancelled_waiting", counts.cancelled_waiting},
      {"refused", counts.refused}};
  res.status = 200;
  res.set_content(body.dump(), "application/json");
}

void fail_engine(const Setup& setup, httplib::Response& res) {
  if (ScriptedLlm* llm = setup.llm.load()) {
    llm->set_health(internal_error("the scripted engine was told to fail"));
  }
  res.status = 200;
  res.set_content("{}", "application/json");
}

std::vector<server::Route> test_routes(const Setup& setup) {
  using server::Access;
  return {{.method = "GET",
           .path = "/test/stats",
           .handler = [&setup](Exchange&, httplib::Response& res) { answer_stats(setup, res); },
           .access = Access::kOpen,
           .when_busy = true},
          {.method = "POST",
           .path = "/test/fail-engine",
           .handler = [&setup](Exchange&, httplib::Response& res) { fail_engine(setup, res); },
           .access = Access::kOpen}};
}

int run(std::vector<std::string> arguments) {
  Setup setup;
  std::ifstream file(take_option(arguments, "--scenario"));
  setup.scenario.assign(std::istreambuf_iterator<char>(file), {});
  setup.load_time =
      std::chrono::milliseconds(std::atoi(take_option(arguments, "--load-ms").c_str()));
  auto parsed = server::parse_options(std::move(arguments), {});
  if (const auto* exit = std::get_if<server::EarlyExit>(&parsed)) {
    std::fprintf(stderr, "%s%s\n", exit->standard_output.c_str(), exit->standard_error.c_str());
    return exit->code;
  }
  setup.options = std::get<server::ServerOptions>(std::move(parsed));
  if (setup.scenario.empty() ||
      !base::configure_logging(setup.options.log_level, setup.options.log_format).is_ok()) {
    std::fprintf(stderr, "--scenario: a readable file is needed\n");
    return base::kExitUsage;
  }
  return server::serve_until_signal(
      setup.options, [&setup](server::Service& service) { return load(setup, service); },
      test_routes(setup));
}

}  // namespace
}  // namespace deepinfer::testing

int main(int argc, char** argv) {
  deepinfer::server::block_signals();
  return deepinfer::testing::run({argv + 1, argv + argc});
}
