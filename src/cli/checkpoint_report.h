#pragma once

/// Looks at a model directory without running it, and goes on past what is broken: unlike
/// loading, which stops at the first fault, it lists them all.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model_config.h"

namespace deepinfer::cli {

/// One weight file.
struct ShardSummary {
  std::string name;
  int64_t num_tensors = 0;
  int64_t bytes = 0;
};

/// Name of the part with the tensors that the text model has no use for (vision, unknown).
inline constexpr const char* kUnusedPart = "other";

/// The tensors of one part of the model (embed, attention, experts, …).
struct PartSummary {
  std::string name;
  int64_t num_tensors = 0;
  int64_t bytes = 0;
};

struct CheckpointReport {
  std::string model_dir;
  /// Absent when config.json is not usable; then nothing can be said to be missing.
  std::optional<model::ModelConfig> config;
  std::vector<ShardSummary> shards;
  /// In the order of the model; last what the text model has no use for.
  std::vector<PartSummary> parts;
  /// Draft stages that config.json promises are complete.
  bool has_draft_weights = false;
  /// The tokenizer knows the control tokens of a chat.
  bool has_chat_tokens = false;
  /// Why this version cannot run the directory; empty if it can. One line each.
  std::vector<std::string> problems;
};

/// Reads configuration, tokenizer and the headers of all weight files of `model_dir`. Weights
/// themselves are not read. Never fails: what cannot be read is a problem in the report.
CheckpointReport inspect_checkpoint(const std::string& model_dir, const std::string& tokenizer_dir);

}  // namespace deepinfer::cli
