#pragma once

/// The engine behind a process boundary.

#include <functional>
#include <memory>

#include "deepinfer/llm.h"
#include "process/supervisor.h"

namespace deepinfer::process {

/// Implements `Llm` over a supervised child process. When that dies or hangs, every open request
/// ends with kError (kUnavailable, reason `engine_failed` or `engine_hung`), new ones are refused
/// with the same, and after a restart it goes on; `failure` tells when there will be none.
class RemoteLlm final : public Llm {
 public:
  /// Returns once the first engine is ready. Errors as `Llm::open`.
  static Result<std::unique_ptr<Llm>> open(const SupervisorOptions& options);
  ~RemoteLlm() override;

  const ModelInfo& model() const override { return model_; }
  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest request) override;
  LlmStats stats() const override;
  Status health() const override;
  Status failure() const override;
  void shutdown(std::chrono::steady_clock::time_point deadline) override;

 private:
  class Requests;

  explicit RemoteLlm(const SupervisorOptions& options);

  ModelInfo model_;  // constant once open
  const std::chrono::milliseconds answer_timeout_;
  const std::shared_ptr<Requests> requests_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace deepinfer::process
