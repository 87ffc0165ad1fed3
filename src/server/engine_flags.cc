#include "server/engine_flags.h"

namespace deepinfer::server {

CLI::Option* add_model_dir(CLI::App& app, EngineConfig& config) {
  return app
      .add_option("MODEL_DIR,--model", config.model_dir,
                  "Directory with config.json, tokenizer.json and weights")
      ->group("Model")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_model_flags(FlagSet& flags, EngineConfig& config) {
  flags.text("tokenizer", config.tokenizer_dir, "Directory of tokenizer.json (MODEL_DIR)");
  flags.number("max-model-len", config.max_model_len,
               "Longest sequence, prompt and output; 32k, 1M; 0 = the model's");
  flags.number("seed", config.seed, "Seed of requests that bring none");
}

void add_compute_flags(FlagSet& flags, EngineConfig& config) {
  flags.text("device", config.device, "auto or cpu");
  flags.number("num-threads", config.num_threads, "CPU threads of a rank; 0 = all usable");
  flags.text("kernel-variant", config.kernel_variant,
             "Force reference, avx2 or avx512 (best available)");
}

void add_memory_flags(FlagSet& flags, EngineConfig& config) {
  flags.number("kv-cache-memory-bytes", config.kv_cache_memory_bytes,
               "Cache bytes per rank; 512M, 4G; 0 = from free memory");
  flags.number("block-size", config.block_size, "Token positions per cache block");
}

void add_step_flags(FlagSet& flags, SchedulerConfig& config) {
  flags.number("max-num-seqs", config.max_num_seqs, "Sequences that run at once, per rank");
  flags.number("max-num-batched-tokens", config.max_num_batched_tokens,
               "Tokens of one step, per rank");
  flags.number("prefill-chunk-tokens", config.prefill_chunk_tokens,
               "Largest piece of a prompt per step; 0 = the step's limit");
}

void add_engine_flags(CLI::App& app, EngineConfig& config) {
  FlagSet flags(app);
  add_model_dir(app, config)->required();
  flags.group("Model");
  add_model_flags(flags, config);
  flags.group("Parallelism");
  add_compute_flags(flags, config);
  flags.group("Memory");
  add_memory_flags(flags, config);
  flags.group("Scheduler");
  add_step_flags(flags, config.scheduler);
}

}  // namespace deepinfer::server
