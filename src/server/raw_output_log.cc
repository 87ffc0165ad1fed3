#include "server/raw_output_log.h"

#include <utility>

#include "base/log.h"

namespace deepinfer::server {

RawOutputLog::RawOutputLog(const recipe::Tokenizer& tokenizer, std::string request_id)
    : tokenizer_(tokenizer),
      request_id_(std::move(request_id)),
      enabled_(spdlog::should_log(spdlog::level::trace)) {}

void RawOutputLog::add(size_t choice, std::span<const TokenId> tokens) {
  if (!enabled_) {
    return;
  }
  if (texts_.size() <= choice) {
    texts_.resize(choice + 1);
  }
  for (const TokenId token : tokens) {
    texts_[choice] += tokenizer_.token_bytes(token);
  }
}

void RawOutputLog::end(size_t choice) {
  if (choice < texts_.size()) {
    DI_LOG_TRACE("request {} choice {} as the model wrote it: {}", request_id_, choice,
                 std::exchange(texts_[choice], {}));
  }
}

}  // namespace deepinfer::server
