#pragma once

/// What the model wrote, before anything is made of it: for those who look for a fault in its
/// markup. Only at log level `trace`, since it is user text.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/tokenizer.h"

namespace deepinfer::server {

/// Collects the output of one request. One thread.
class RawOutputLog {
 public:
  /// `tokenizer` outlives the log.
  RawOutputLog(const recipe::Tokenizer& tokenizer, std::string request_id);

  void add(size_t choice, std::span<const TokenId> tokens);
  /// Writes the line of a choice that is whole or has failed.
  void end(size_t choice);

 private:
  const recipe::Tokenizer& tokenizer_;
  const std::string request_id_;
  const bool enabled_;
  std::vector<std::string> texts_;  // by choice
};

}  // namespace deepinfer::server
