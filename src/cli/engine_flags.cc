#include "cli/engine_flags.h"

namespace deepinfer::cli {

void add_model_flags(CLI::App& app, EngineConfig& config) {
  app.add_option("MODEL_DIR,--model", config.model_dir,
                 "Directory with config.json, tokenizer.json and weights")
      ->required();
  app.add_option("--tokenizer", config.tokenizer_dir,
                 "Directory of tokenizer.json (default: MODEL_DIR)");
}

void add_engine_flags(CLI::App& app, EngineConfig& config) {
  app.add_option("--device", config.device, "auto or cpu")->capture_default_str();
  app.add_option("--kernel-variant", config.kernel_variant,
                 "Kernels to force: reference, avx2, avx512 (default: the fastest supported)");
  app.add_option("--num-threads", config.num_threads, "Kernel threads; 0 = all usable CPUs")
      ->capture_default_str();
  app.add_option("--max-model-len", config.max_model_len,
                 "Longest sequence, prompt and output together; 0 = the model's limit")
      ->capture_default_str();
  app.add_option("--block-size", config.block_size, "Token positions per cache block")
      ->capture_default_str();
  app.add_option("--kv-cache-memory-bytes", config.kv_cache_memory_bytes,
                 "Bytes for cache blocks (512M, 4G); 0 = derived from free memory")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--seed", config.seed, "Seed of requests that bring none")->capture_default_str();
  app.add_option("--max-num-seqs", config.scheduler.max_num_seqs, "Sequences that run at once")
      ->capture_default_str();
  app.add_option("--max-num-batched-tokens", config.scheduler.max_num_batched_tokens,
                 "Tokens of one step")
      ->capture_default_str();
  app.add_option("--prefill-chunk-tokens", config.scheduler.prefill_chunk_tokens,
                 "Largest piece of one prompt per step; 0 = --max-num-batched-tokens")
      ->capture_default_str();
}

}  // namespace deepinfer::cli
