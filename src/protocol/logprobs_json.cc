#include "protocol/logprobs_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "recipe/json_text.h"

namespace deepinfer::protocol {

void append_logprob(float value, Infinity infinity, std::string& out) {
  if (!std::isfinite(value)) {
    if (infinity == Infinity::kNull) {
      out += "null";
      return;
    }
    value = value > 0 ? 0.0F : kLowestLogprob;
  }
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

namespace {

void append_token(const TokenLogprob& token, const recipe::Tokenizer& tokenizer, Infinity infinity,
                  std::string& out) {
  const std::string_view bytes = tokenizer.token_bytes(token.token);
  out += R"({"token":)";
  recipe::append_json_string(recipe::token_text(bytes), out);
  out += R"(,"logprob":)";
  append_logprob(token.logprob, infinity, out);
  out += R"(,"bytes":[)";
  for (size_t i = 0; i < bytes.size(); ++i) {
    out += i == 0 ? "" : ",";
    out += std::to_string(static_cast<uint8_t>(bytes[i]));
  }
  out += ']';
}

}  // namespace

void append_logprob_entry(const PositionLogprobs& position, const recipe::Tokenizer& tokenizer,
                          Infinity infinity, std::string& out) {
  append_token(position.chosen, tokenizer, infinity, out);
  out += R"(,"top_logprobs":[)";
  for (size_t i = 0; i < position.top.size(); ++i) {
    out += i == 0 ? "" : ",";
    append_token(position.top[i], tokenizer, infinity, out);
    out += '}';
  }
  out += "]}";
}

void LogprobFeed::add(std::span<const PositionLogprobs> logprobs) {
  logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.end());
}

std::string LogprobFeed::entries(const recipe::MessageDelta& delta) {
  std::string entries;
  const uint32_t begin = once_ ? std::max(delta.token_begin, sent_) : delta.token_begin;
  const auto end = std::min(delta.token_end, static_cast<uint32_t>(logprobs_.size()));
  for (uint32_t i = begin; i < end; ++i) {
    entries += entries.empty() ? "" : ",";
    append_logprob_entry(logprobs_[i], *tokenizer_, once_ ? Infinity::kFinite : Infinity::kNull,
                         entries);
  }
  sent_ = std::max(sent_, end);
  return entries;
}

}  // namespace deepinfer::protocol
