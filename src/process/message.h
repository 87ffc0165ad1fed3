#pragma once

/// What the front process and the engine process say to each other.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/llm.h"

namespace deepinfer::process {

/// Names a request on one connection; never used twice.
using RequestNumber = uint64_t;

/// First word of the front: what to load, and how to log.
struct StartMessage {
  EngineConfig engine;
  std::string log_level = "info";
  std::string log_format = "text";
};
/// Answered by AnswerMessage, then, if admitted, by outputs.
struct SubmitMessage {
  RequestNumber number = 0;
  GenerateRequest request;
};
struct CancelMessage {
  RequestNumber number = 0;
};
/// Finish what runs until then, abort the rest, stop.
struct StopMessage {
  std::chrono::steady_clock::time_point deadline;
};
using ToEngine = std::variant<StartMessage, SubmitMessage, CancelMessage, StopMessage>;

/// The engine is open. Nothing else but pulses comes before it.
struct ReadyMessage {
  ModelInfo model;
};
/// The engine could not be opened; the process ends.
struct FailedMessage {
  Status why;
};
/// Admitted, or refused and why.
struct AnswerMessage {
  RequestNumber number = 0;
  Status refusal;
};
/// Everything that came since the last one, of all requests.
struct OutputsMessage {
  std::vector<std::pair<RequestNumber, TokenOutput>> outputs;
  /// As of these outputs.
  LlmStats stats;
};
/// Sent at a steady pace: shows that the process runs.
struct PulseMessage {
  LlmStats stats;
  Status health;
};
/// Everything has ended; the process ends too.
struct StoppedMessage {};
using FromEngine = std::variant<ReadyMessage, FailedMessage, AnswerMessage, OutputsMessage,
                                PulseMessage, StoppedMessage>;

/// CBOR of a message.
std::string encode(const ToEngine& message);
std::string encode(const FromEngine& message);

/// kInvalidArgument names what is wrong with bytes that are no message. Nesting is bounded.
Result<ToEngine> decode_to_engine(std::string_view bytes);
Result<FromEngine> decode_from_engine(std::string_view bytes);

}  // namespace deepinfer::process
