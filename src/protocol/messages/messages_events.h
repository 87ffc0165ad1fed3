#pragma once

/// The JSON shapes of Messages output (recipe spec §9). What is sent when is decided by
/// MessagesStream.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/completion.h"

namespace deepinfer::protocol {

struct MessagesUsage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;
};

/// What all events of one response have in common.
struct MessagesEnvelope {
  /// Also the signature of thinking blocks: whoever sends them back is not asked for more.
  std::string id;
  std::string model;
  bool thinking = false;
};

/// One block of the answer, as far as it is known.
struct AnswerBlock {
  enum class Kind { kThinking, kText, kToolUse };
  Kind kind = Kind::kText;
  /// The thinking, the text or the arguments.
  std::string text;
  std::string id;
  std::string name;
  /// A call whose end was seen.
  bool complete = false;
};

/// How an answer ended.
struct StopInfo {
  /// `end_turn`, `max_tokens`, ...; empty while it runs.
  std::string reason;
  /// The text that ended it, if one did.
  std::string sequence;
  bool by_sequence = false;
};

class MessagesWriter {
 public:
  explicit MessagesWriter(MessagesEnvelope envelope) : envelope_(std::move(envelope)) {}

  Event message_start(const MessagesUsage& usage) const;
  Event block_start(size_t index, const AnswerBlock& block) const;
  Event ping() const;
  /// A piece of a block's text.
  Event delta(size_t index, AnswerBlock::Kind kind, std::string_view text) const;
  /// Ends a thinking block's content.
  Event signature(size_t index) const;
  Event block_stop(size_t index) const;
  Event message_delta(const StopInfo& stop, const MessagesUsage& usage) const;
  Event message_stop() const;
  /// The whole answer.
  std::string message(const std::vector<const AnswerBlock*>& blocks, const StopInfo& stop,
                      const MessagesUsage& usage) const;

 private:
  const MessagesEnvelope envelope_;
};

}  // namespace deepinfer::protocol
