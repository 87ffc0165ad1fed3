#pragma once

/// An engine without a model: echoes prompts, holds a fixed number of requests.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deepinfer/llm.h"

namespace deepinfer::cli {

/// Answers every request with its own prompt, one token per look at the stream. Single-threaded.
class ScriptedLlm final : public Llm {
 public:
  explicit ScriptedLlm(int capacity, int32_t vocab_size = 1000) : capacity_(capacity) {
    model_.vocab_size = vocab_size;
    model_.max_model_len = 4096;
  }

  /// The request with this id ends with `error` instead of an answer.
  void fail_request(const std::string& id, Status error) {
    failures_.emplace(id, std::move(error));
  }
  /// The request with this id ends without a finish reason.
  void end_request_early(const std::string& id) { truncated_ = id; }

  int most_running() const { return most_running_; }
  int refused() const { return refused_; }

  const ModelInfo& model() const override { return model_; }

  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest request) override {
    if (running_ >= capacity_) {
      ++refused_;
      return resource_exhausted("the queue is full");
    }
    most_running_ = std::max(most_running_, ++running_);
    return std::unique_ptr<OutputStream>(std::make_unique<Echo>(*this, std::move(request)));
  }

  LlmStats stats() const override { return {}; }
  Status health() const override { return Status::ok(); }
  void shutdown(std::chrono::steady_clock::time_point /*deadline*/) override {}

 private:
  class Echo final : public OutputStream {
   public:
    Echo(ScriptedLlm& llm, GenerateRequest request) : llm_(llm), request_(std::move(request)) {}
    ~Echo() override { --llm_.running_; }

    StreamEvent wait_for(std::chrono::milliseconds /*timeout*/) override {
      if (looked_ == request_.prompt.size()) {
        return StreamEnd{};
      }
      TokenOutput output;
      if (looked_ == 0) {
        output.probe_logits.assign(request_.probe_logits.size(), 0.5F);
      }
      output.tokens = {request_.prompt[looked_++]};
      output.usage.prompt_tokens = static_cast<int32_t>(request_.prompt.size());
      output.usage.completion_tokens = static_cast<int32_t>(looked_);
      if (looked_ == request_.prompt.size() && request_.id != llm_.truncated_) {
        end(output);
      }
      return output;
    }

   private:
    void end(TokenOutput& output) {
      const auto failure = llm_.failures_.find(request_.id);
      const bool failed = failure != llm_.failures_.end();
      output.finish = failed ? FinishReason::kError : FinishReason::kLength;
      output.error = failed ? failure->second : Status::ok();
    }

    ScriptedLlm& llm_;
    GenerateRequest request_;
    size_t looked_ = 0;
  };

  const int capacity_;
  ModelInfo model_;
  std::map<std::string, Status> failures_;
  std::optional<std::string> truncated_;
  int running_ = 0;
  int most_running_ = 0;
  int refused_ = 0;
};

}  // namespace deepinfer::cli
