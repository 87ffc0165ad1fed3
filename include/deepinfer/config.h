#pragma once

/// Everything that can be set, grouped by who reads it. Filled once in main, checked by
/// `validate`, then handed down by value: nothing below main reads flags or the environment.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer {

/// Sizes of the rank grid. 0 = derive; after `resolve_parallel` all are set and
/// `expert == data * context`.
struct ParallelConfig {
  int32_t data = 0;
  int32_t context = 0;
  int32_t expert = 0;
};

/// Fills unset sizes for `num_devices` devices: EP = DP × CP; two given, the third follows;
/// EP alone gives CP = 1; none gives EP = devices. Contradictions name the three numbers.
Result<ParallelConfig> resolve_parallel(const ParallelConfig& wanted, int32_t num_devices);

/// Limits and policy of one rank's scheduler.
struct SchedulerConfig {
  /// Sequences that run at once, per DP rank. [1, 4096]
  int32_t max_num_seqs = 256;
  /// Tokens of one step (decodes and prompt chunks together), per DP rank.
  int32_t max_num_batched_tokens = 2048;
  /// Requests that wait beyond the running ones; more are refused.
  int32_t max_num_queued_reqs = 1024;
  /// Prompt tokens that wait; more are refused.
  int64_t max_num_queued_tokens = 16 * 1024 * 1024;
  /// Largest piece of one prompt per step; 0 = `max_num_batched_tokens`.
  int32_t prefill_chunk_tokens = 0;
};

/// The engine of one process: model, memory, device, ranks.
struct EngineConfig {
  std::string model_dir;
  /// Directory of tokenizer.json; empty = `model_dir`.
  std::string tokenizer_dir;
  /// "auto" or "cpu".
  std::string device = "auto";
  /// Kernel variant to force ("reference", "avx2", "avx512"); empty = best available.
  std::string kernel_variant;
  /// Threads of one rank's kernel pool; 0 = the CPUs this process may use.
  int32_t num_threads = 0;
  /// Longest sequence (prompt + output); 0 = the model's limit.
  int32_t max_model_len = 0;
  /// Token positions per cache block; a multiple of every compress ratio.
  int32_t block_size = 64;
  /// Bytes for cache blocks per rank; 0 = derived from free memory.
  int64_t kv_cache_memory_bytes = 0;
  /// Tokens a sequence can be rolled back (rejected drafts).
  int32_t max_rollback = 8;
  /// Seed of requests that bring none.
  uint64_t seed = 0;
  /// A step that takes longer counts as hung: `Llm::health` fails.
  std::chrono::milliseconds hang_timeout{120'000};
  ParallelConfig parallel;
  SchedulerConfig scheduler;
};

/// The HTTP front end.
struct HttpConfig {
  std::string host = "127.0.0.1";
  /// 0 = chosen by the kernel and logged.
  int32_t port = 8000;
  /// Names accepted as `model`; the first is the one reported. Empty = directory name.
  std::vector<std::string> served_model_names;
  std::vector<std::string> api_keys;
  /// Origins allowed by CORS; empty = CORS off.
  std::vector<std::string> allowed_origins;
  int64_t max_request_bytes = 64LL * 1024 * 1024;
  /// Bytes that the bodies of all requests may hold together; beyond it, 503.
  int64_t max_buffered_bytes = 1024LL * 1024 * 1024;
  /// Connections that may be open, idle ones included.
  int32_t max_connections = 16384;
  /// Requests being worked on; beyond it only health and metrics are answered.
  int32_t max_streams = 8192;
  /// Output tokens of requests that name no limit; 0 = what the protocol says: to the end of the
  /// context, or 16 for raw completions.
  int32_t default_max_tokens = 0;
  /// Whole-request limit; zero = none.
  std::chrono::milliseconds request_timeout{0};
  /// Silence on a stream before a comment line is sent; zero = never.
  std::chrono::milliseconds sse_keep_alive_interval{15000};
  std::chrono::milliseconds shutdown_timeout{25000};
};

struct ServerConfig {
  EngineConfig engine;
  HttpConfig http;
};

/// OK, or the first bad field: `--max-num-seqs: 0 is not in 1..4096`.
Status validate(const EngineConfig& config);
Status validate(const ServerConfig& config);

}  // namespace deepinfer
