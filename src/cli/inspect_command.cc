#include "cli/inspect_command.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

#include "base/exit_code.h"
#include "base/log.h"
#include "device/memory_info.h"
#include "engine/memory_plan.h"
#include "server/engine_flags.h"

namespace deepinfer::cli {
namespace {

std::string human_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) {
    value /= 1024;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

class Report {
 public:
  template <typename... Args>
  void row(std::string_view label, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), "  {:<18} {}\n", label,
                   fmt::format(format, std::forward<Args>(args)...));
  }
  void section(std::string_view title) { text_ += fmt::format("{}\n", title); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_architecture(Report& out, const model::ModelConfig& config) {
  out.section("architecture");
  out.row("name", "{}", config.architecture);
  out.row("layers", "{} of width {}, {} streams", config.num_hidden_layers, config.hidden_size,
          config.hc_mult);
  out.row("attention", "{} heads of {}, window {}, {} compressed sources, top {} entries",
          config.num_attention_heads, config.head_dim, config.sliding_window,
          config.kv_source_layer_ids.size(), config.index_topk);
  out.row("experts", "{} of width {}, {} per token, {} shared", config.n_routed_experts,
          config.moe_intermediate_size, config.num_experts_per_tok, config.n_shared_experts);
  out.row("engram", "{} layers", config.engram_layer_ids.size());
  out.row("draft stages", "{}", config.num_nextn_predict_layers);
  out.row("vocabulary", "{} tokens", config.vocab_size);
  out.row("context", "{} tokens", config.max_position_embeddings);
}

void add_weights(Report& out, const CheckpointReport& report) {
  int64_t tensors = 0;
  int64_t bytes = 0;
  out.section("weights");
  for (const PartSummary& part : report.parts) {
    out.row(part.name, "{:>10}  {} tensors", human_bytes(part.bytes), part.num_tensors);
    tensors += part.num_tensors;
    bytes += part.bytes;
  }
  out.row("total", "{:>10}  {} tensors in {} files", human_bytes(bytes), tensors,
          report.shards.size());
}

int64_t weight_bytes(const CheckpointReport& report) {
  int64_t bytes = 0;
  for (const PartSummary& part : report.parts) {
    bytes += part.name == kUnusedPart ? 0 : part.bytes;
  }
  return bytes;
}

// False if the checkpoint does not fit.
bool add_memory_plan(Report& out, const CheckpointReport& report, const EngineConfig& engine,
                     int64_t available_bytes) {
  const auto plan =
      engine::plan_memory(*report.config, engine, available_bytes, weight_bytes(report));
  out.section("memory plan");
  std::istringstream lines(plan.has_value() ? plan->describe() : plan.error().message());
  for (std::string line; std::getline(lines, line);) {
    out.section("  " + line);
  }
  return plan.has_value();
}

void add_verdict(Report& out, const CheckpointReport& report, bool fits) {
  if (report.config.has_value() && report.config->num_nextn_predict_layers > 0) {
    out.row("speculation", "{}",
            report.has_draft_weights ? "draft stages are complete (not run by this version)"
                                     : "draft stages are missing; the text model runs without");
  }
  if (report.problems.empty()) {
    out.row("chat", "{}",
            report.has_chat_tokens ? "control tokens are complete"
                                   : "no control tokens: they are spelled out as plain text");
    out.section(fits ? "complete: this directory can be served"
                     : "complete, but there is no memory plan for it: see above");
    return;
  }
  out.section(fmt::format("problems ({})", report.problems.size()));
  for (const std::string& problem : report.problems) {
    out.section("  - " + problem);
  }
}

}  // namespace

std::string format_report(const CheckpointReport& report, const EngineConfig& engine,
                          int64_t available_bytes) {
  Report out;
  out.section(report.model_dir);
  if (report.config.has_value()) {
    add_architecture(out, *report.config);
  }
  if (!report.shards.empty()) {
    add_weights(out, report);
  }
  const bool fits =
      report.config.has_value() && add_memory_plan(out, report, engine, available_bytes);
  out.section("state");
  add_verdict(out, report, fits);
  return out.take();
}

void add_inspect_command(CLI::App& app, int& exit_code_out) {
  auto engine = std::make_shared<EngineConfig>();
  CLI::App* command = app.add_subcommand("inspect", "Say what a checkpoint is and what it needs");
  server::add_engine_flags(*command, *engine);
  command->callback([engine, &exit_code_out] {
    const Status valid = validate(*engine);
    if (!valid.is_ok()) {
      std::fprintf(stderr, "%s\n", valid.message().c_str());
      exit_code_out = base::kExitUsage;
      return;
    }
    const std::string& tokenizer_dir =
        engine->tokenizer_dir.empty() ? engine->model_dir : engine->tokenizer_dir;
    const CheckpointReport report = inspect_checkpoint(engine->model_dir, tokenizer_dir);
    const std::string text = format_report(report, *engine, device::available_memory_bytes());
    std::fwrite(text.data(), 1, text.size(), stdout);
    exit_code_out = report.problems.empty() ? base::kExitOk : base::kExitModel;
  });
}

}  // namespace deepinfer::cli
