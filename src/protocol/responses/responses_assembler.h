#pragma once

/// Engine outputs -> the events and the response of one Responses request.

#include <memory>
#include <string>
#include <vector>

#include "protocol/completion.h"
#include "protocol/responses/responses_stream.h"

namespace deepinfer::protocol {

class ResponsesAssembler final : public ResponseAssembler {
 public:
  struct Settings {
    ResponsesStream::Settings stream;
    /// Tokens that end a generation and are no part of its text.
    std::vector<TokenId> end_tokens;
    uint64_t prompt_tokens = 0;
  };
  /// `recipe` must outlive the assembler.
  ResponsesAssembler(const Settings& settings, ResponseWriter writer, const recipe::Recipe& recipe);

  std::vector<Event> push(int32_t choice, const TokenOutput& output) override;
  bool choice_done(int32_t) const override { return stream_.done(); }
  /// There is no mark behind `response.completed`.
  std::vector<Event> finish() override { return {}; }
  std::string response() override { return stream_.response(); }
  uint32_t invalid_arguments() const override { return stream_.invalid_arguments(); }
  std::vector<Event> failed(std::string error_body) override;

 private:
  ResponsesUsage prompt_usage() const;

  const std::vector<TokenId> end_tokens_;
  const uint64_t prompt_tokens_;
  uint64_t cached_tokens_ = 0;
  ResponsesStream stream_;
};

}  // namespace deepinfer::protocol
