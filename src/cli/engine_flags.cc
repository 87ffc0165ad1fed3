#include "cli/engine_flags.h"

#include "server/flag_set.h"

namespace deepinfer::cli {

void add_model_flags(CLI::App& app, EngineConfig& config) {
  server::FlagSet flags(app);
  flags.group("Model");
  app.add_option("MODEL_DIR,--model", config.model_dir,
                 "Directory with config.json, tokenizer.json and weights")
      ->group("Model")
      ->required();
  flags.text("tokenizer", config.tokenizer_dir, "Directory of tokenizer.json (MODEL_DIR)");
  flags.number("max-model-len", config.max_model_len,
               "Longest sequence, prompt and output; 32k, 1M; 0 = the model's");
  flags.number("seed", config.seed, "Seed of requests that bring none");
}

void add_engine_flags(CLI::App& app, EngineConfig& config) {
  server::FlagSet flags(app);
  flags.group("Parallelism");
  flags.text("device", config.device, "auto or cpu");
  flags.number("num-threads", config.num_threads, "CPU threads; 0 = all usable");
  flags.text("kernel-variant", config.kernel_variant,
             "Force reference, avx2 or avx512 (best available)");
  flags.group("Memory");
  flags.number("kv-cache-memory-bytes", config.kv_cache_memory_bytes,
               "Cache bytes; 512M, 4G; 0 = from free memory");
  flags.number("block-size", config.block_size, "Token positions per cache block");
  flags.group("Scheduler");
  flags.number("max-num-seqs", config.scheduler.max_num_seqs, "Sequences that run at once");
  flags.number("max-num-batched-tokens", config.scheduler.max_num_batched_tokens,
               "Tokens of one step");
  flags.number("prefill-chunk-tokens", config.scheduler.prefill_chunk_tokens,
               "Largest piece of a prompt per step; 0 = the step's limit");
}

}  // namespace deepinfer::cli
