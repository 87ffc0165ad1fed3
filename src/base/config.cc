#include "deepinfer/config.h"

#include <spdlog/fmt/fmt.h>

namespace deepinfer {
namespace {

template <typename T>
Status in_range(const char* flag, T value, T low, T high) {
  if (value < low || value > high) {
    return invalid_argument(fmt::format("{}: {} is not in {}..{}", flag, value, low, high))
        .with_param(flag);
  }
  return Status::ok();
}

Status validate(const SchedulerConfig& config) {
  DI_TRY(in_range("--max-num-seqs", config.max_num_seqs, 1, 4096));
  DI_TRY(in_range("--max-num-batched-tokens", config.max_num_batched_tokens, 1, 1 << 20));
  DI_TRY(in_range("--max-num-queued-reqs", config.max_num_queued_reqs, 0, 1 << 20));
  DI_TRY(in_range<int64_t>("--max-num-queued-tokens", config.max_num_queued_tokens, 0, 1LL << 40));
  return in_range("--prefill-chunk-tokens", config.prefill_chunk_tokens, 0, 1 << 20);
}

Status parallel_conflict(const ParallelConfig& wanted) {
  return invalid_argument(
      fmt::format("--expert-parallel-size: {} must equal --data-parallel-size {} times "
                  "--context-parallel-size {}",
                  wanted.expert, wanted.data, wanted.context));
}

}  // namespace

Result<ParallelConfig> resolve_parallel(const ParallelConfig& wanted, int32_t num_devices) {
  DI_TRY(in_range("--data-parallel-size", wanted.data, 0, 4096));
  DI_TRY(in_range("--context-parallel-size", wanted.context, 0, 4096));
  DI_TRY(in_range("--expert-parallel-size", wanted.expert, 0, 4096));
  ParallelConfig sizes = wanted;
  if (sizes.expert == 0) {
    if (sizes.data == 0 && sizes.context == 0) {
      sizes.data = num_devices;
    }
    sizes.data = sizes.data == 0 ? 1 : sizes.data;
    sizes.context = sizes.context == 0 ? 1 : sizes.context;
    sizes.expert = sizes.data * sizes.context;
    return sizes;
  }
  if (sizes.data == 0 && sizes.context == 0) {
    sizes.context = 1;
  }
  if (sizes.data == 0) {
    sizes.data = sizes.expert / sizes.context;
  } else if (sizes.context == 0) {
    sizes.context = sizes.expert / sizes.data;
  }
  if (sizes.data * sizes.context != sizes.expert) {
    return parallel_conflict(sizes);
  }
  return sizes;
}

Status validate(const EngineConfig& config) {
  if (config.model_dir.empty()) {
    return invalid_argument("MODEL_DIR: missing; name the directory with config.json and weights");
  }
  if (config.device != "auto" && config.device != "cpu") {
    return invalid_argument(
        fmt::format("--device: '{}' is not one of auto, cpu in this build", config.device));
  }
  DI_TRY(in_range("--num-threads", config.num_threads, 0, 1024));
  DI_TRY(in_range("--max-model-len", config.max_model_len, 0, 1 << 24));
  DI_TRY(in_range("--block-size", config.block_size, 2, 4096));
  DI_TRY(in_range<int64_t>("--kv-cache-memory-bytes", config.kv_cache_memory_bytes, 0, 1LL << 50));
  if (config.hang_timeout.count() <= 0) {
    return invalid_argument("--hang-timeout: no step takes less than 0 s; give more")
        .with_param("--hang-timeout");
  }
  DI_TRY(in_range("max_rollback", config.max_rollback, 0, 256));
  return validate(config.scheduler);
}

Status validate(const ServerConfig& config) {
  DI_TRY(validate(config.engine));
  const HttpConfig& http = config.http;
  DI_TRY(in_range("--port", http.port, 0, 65535));
  DI_TRY(in_range<int64_t>("--max-request-bytes", http.max_request_bytes, 1024, 1LL << 32));
  DI_TRY(in_range<int64_t>("--max-buffered-bytes", http.max_buffered_bytes, http.max_request_bytes,
                           1LL << 44));
  DI_TRY(in_range("--max-connections", http.max_connections, 1, 1 << 20));
  DI_TRY(in_range("--max-streams", http.max_streams, 1, 1 << 16));
  DI_TRY(in_range("--default-max-tokens", http.default_max_tokens, 0, 1 << 24));
  for (const std::string& key : http.api_keys) {
    if (key.empty()) {
      return invalid_argument("--api-key: an empty key would admit everybody");
    }
  }
  return Status::ok();
}

}  // namespace deepinfer
