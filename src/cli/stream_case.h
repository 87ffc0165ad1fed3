#pragma once

/// What the recorded streams of all protocols have in common.

#include <optional>
#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/json_reader.h"
#include "recipe/recipe.h"
#include "recipe/tokenizer.h"

namespace deepinfer::cli {

/// Ids of the markers as this tokenizer has them.
recipe::ControlTokens case_control_tokens(const recipe::Tokenizer* tokenizer);

/// A stream of one protocol, fed with the chunks of a case.
class CasePlayer {
 public:
  virtual ~CasePlayer() = default;

  /// Feeds the chunks in order until the stream is done or one of them breaks it; the answer line
  /// of the case. Called once.
  recipe::Json play(const recipe::Json& chunks);

 protected:
  virtual bool done() const = 0;
  /// The events that a chunk causes, as a list; empty optional if the chunk breaks the stream.
  virtual std::optional<recipe::Json> push(const recipe::Json& chunk) = 0;
  /// The events that follow the last chunk, as a list.
  virtual recipe::Json end() = 0;
  /// What closes the event stream, null if the last event does.
  virtual recipe::Json closing_mark() const { return nullptr; }
  /// The plain answer with the same content.
  virtual recipe::Json response() const = 0;
};

/// The list of chunks of a case. kInvalidArgument if it has none.
Result<const recipe::Json*> case_chunks(const recipe::Json& input);

/// The `ready` chunk if it comes first; only then it counts.
recipe::Json first_ready(const recipe::Json& input);

/// The case's parsing options if it has them, else those of its request.
recipe::ParsingOptions case_parsing_or(const recipe::Json& input,
                                       const recipe::ParsingOptions& converted);

/// The log probabilities of a chunk with these ids; empty if it has none.
std::vector<PositionLogprobs> case_logprobs(const recipe::Json& list,
                                            const std::vector<TokenId>& ids);

/// The tokenizer that a case wants: null if it does without. kFailedPrecondition if it wants
/// one and there is none.
Result<const recipe::Tokenizer*> case_tokenizer(const recipe::Json& input,
                                                const recipe::Tokenizer* tokenizer);

}  // namespace deepinfer::cli
