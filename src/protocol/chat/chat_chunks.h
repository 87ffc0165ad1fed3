#pragma once

/// The JSON shapes of Chat Completions output (recipe spec §8). What differs by policy is
/// decided here; what is sent when is decided by ChatChoice and ChatAssembler.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/recipe_policy.h"
#include "recipe/output_parser.h"

namespace deepinfer::protocol {

struct ChatUsage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;
  /// Absent where reasoning is not counted.
  std::optional<uint64_t> reasoning_tokens;
};

std::string usage_json(const ChatUsage& usage);

/// One tool call of a finished message.
struct MessageCall {
  std::string id;
  std::string name;
  std::string arguments;
  bool complete = false;
};

/// One choice's message, accumulated from its deltas.
struct ChatMessageText {
  std::string content;
  std::string reasoning;
  std::vector<MessageCall> calls;
  /// Log probability entries as JSON, comma separated, of each text.
  std::string content_logprobs;
  std::string reasoning_logprobs;
  bool any_logprobs = false;
  /// `stop`, `length`, ...; empty while running.
  std::string finish_reason;
};

/// What all chunks and the response of one request have in common.
struct ChatEnvelope {
  std::string id;
  std::string model;
  int64_t created = 0;
  std::optional<std::string> system_fingerprint;
  bool thinking = false;
  /// The answer continues a prefix message.
  bool continues_content = false;
  /// Chunks carry `usage: null` until the one that has it.
  bool announces_usage = false;
  /// Members that carry the reasoning.
  std::vector<std::string> reasoning_fields = {"reasoning_content"};
};

class ChunkWriter {
 public:
  ChunkWriter(const ChatEnvelope& envelope, const RecipePolicy& policy);

  /// The opening delta of the reference, which carries only the role.
  std::string role(int32_t choice) const;
  /// A piece of text or of a call. `first` pieces carry the role under lean deltas.
  /// `call_id` is used when a call begins; `logprobs` are entries, or empty for none.
  std::string delta(int32_t choice, const recipe::MessageDelta& delta, bool first,
                    std::string_view call_id, std::string_view logprobs) const;
  /// The finish chunk, with usage if it is given.
  std::string finish(int32_t choice, std::string_view reason, bool first,
                     const ChatUsage* usage) const;
  /// A chunk with the usage so far in it.
  static std::string with_usage(std::string chunk, const ChatUsage& usage);
  /// The closing usage chunk with no choices.
  std::string usage(const ChatUsage& usage) const;
  /// The whole response.
  std::string response(const std::vector<const ChatMessageText*>& choices,
                       const ChatUsage& usage) const;

 private:
  std::string begin(int32_t choice) const;
  std::string end(std::string chunk, std::string_view logprobs, std::string_view finish) const;
  std::string tail(std::string_view usage) const;

  const ChatEnvelope envelope_;
  const RecipePolicy policy_;
  /// Everything up to the choices, the same in all chunks.
  std::string prefix_;
};

}  // namespace deepinfer::protocol
