#include "cli/generate_command.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "cli/batch_runner.h"
#include "cli/generate_line.h"
#include "cli/progress_bar.h"
#include "server/engine_flags.h"

namespace deepinfer::cli {
namespace {

struct GenerateOptions {
  EngineConfig engine;
  std::string input_path;
  std::string output_path;
  std::string log_level = "warning";
};

Status open_files(const GenerateOptions& options, std::ifstream& in, std::ofstream& out) {
  if (!options.input_path.empty()) {
    in.open(options.input_path);
    if (!in || std::filesystem::is_directory(options.input_path)) {
      return invalid_argument("--input: cannot read " + options.input_path);
    }
  }
  if (!options.output_path.empty()) {
    out.open(options.output_path);
    if (!out) {
      return invalid_argument("--output: cannot write " + options.output_path);
    }
  }
  return Status::ok();
}

// As many as the engine holds, running and waiting: it never idles for lack of submitted lines.
int32_t in_flight_limit(const SchedulerConfig& scheduler) {
  return scheduler.max_num_seqs + scheduler.max_num_queued_reqs;
}

Status run_generate(const GenerateOptions& options) {
  DI_TRY(base::configure_logging(options.log_level, "text"));
  DI_TRY(validate(options.engine));
  std::ifstream input_file;
  std::ofstream output_file;
  DI_TRY(open_files(options, input_file, output_file));
  const std::string& tokenizer_dir = options.engine.tokenizer_dir.empty()
                                         ? options.engine.model_dir
                                         : options.engine.tokenizer_dir;
  DI_ASSIGN(const auto recipe, recipe::Recipe::make(options.engine.model_dir, tokenizer_dir));
  DI_ASSIGN(const auto llm, Llm::open(options.engine));

  std::istream& in = options.input_path.empty() ? std::cin : input_file;
  std::ostream& out = options.output_path.empty() ? std::cout : output_file;
  std::FILE* terminal = isatty(STDERR_FILENO) != 0 ? stderr : nullptr;
  const int64_t failed =
      generate_lines(in, out, terminal, *llm, *recipe, in_flight_limit(options.engine.scheduler));
  if (failed > 0) {
    DI_LOG_WARN("{} lines were answered with an error", failed);
  }
  llm->shutdown(std::chrono::steady_clock::now());
  out.flush();
  return out ? Status::ok() : internal_error("the output could not be written completely");
}

}  // namespace

int64_t generate_lines(std::istream& in, std::ostream& out, std::FILE* terminal, Llm& llm,
                       const recipe::Recipe& recipe, int32_t max_in_flight) {
  std::vector<Json> ids;
  std::vector<Result<GenerateRequest>> requests;
  std::string text;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") != std::string::npos) {
      GenerateLine line = parse_generate_line(text, number, llm.model(), recipe);
      ids.push_back(std::move(line.id));
      requests.push_back(std::move(line.request));
    }
  }
  const base::SystemClock clock;
  ProgressBar bar(terminal, clock);
  int64_t failed = 0;
  const auto write = [&](size_t index, const Outcome& outcome) {
    failed += outcome.has_value() ? 0 : 1;
    // Line by line, so that a reader and an interrupted run have what is finished.
    out << format_generate_line(ids[index], outcome, recipe.tokenizer()) << '\n' << std::flush;
  };
  run_batch(llm, std::move(requests), max_in_flight,
            {.on_outcome = write,
             .on_progress = [&](const BatchProgress& progress) { bar.update(progress); }});
  bar.finish();
  return failed;
}

void add_generate_command(CLI::App& app, int& exit_code_out) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Answer a file of JSON lines, offline");
  command->add_option("--input,-i", options->input_path, "File of JSON lines (default: stdin)");
  command->add_option("--output,-o", options->output_path,
                      "File for the answers (default: stdout)");
  command
      ->add_option("--log-level", options->log_level, "trace, debug, info, warning, error or off")
      ->capture_default_str();
  server::add_engine_flags(*command, options->engine);
  command->callback([options, &exit_code_out] {
    const Status status = run_generate(*options);
    if (!status.is_ok()) {
      std::cerr << status.message() << '\n';
    }
    exit_code_out = base::exit_code_of(status);
  });
}

}  // namespace deepinfer::cli
