#pragma once

/// What the HTTP layer knows of a protocol: bytes in, engine requests and response bytes out.
/// One implementation per protocol over the same core, so the HTTP side is written once.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/llm.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "recipe/recipe.h"

namespace deepinfer::protocol {

/// What a protocol needs to know of the server. Constant while serving.
struct ServiceInfo {
  /// Accepted as `model`; the first is reported.
  std::vector<std::string> model_names;
  /// Members of a chat answer that carry its reasoning, each all of it.
  std::vector<std::string> reasoning_fields = {"reasoning_content"};
  /// See recipe::ParsingOptions.
  bool repeat_open_reasoning = false;
  ModelInfo model;
  /// Output limit of requests that name none; 0 = the protocol's own.
  int32_t default_max_tokens = 0;
};

/// One server-sent event. `name` is empty for the unnamed events of Chat Completions.
struct Event {
  std::string name;
  std::string data;
};

/// Builds a request's response from its outputs. Feeds plain and streamed answers alike, so
/// joined deltas equal the plain message. One thread.
class ResponseAssembler {
 public:
  virtual ~ResponseAssembler() = default;

  /// Takes the next output of one choice and returns the events it gives. Outputs that arrive
  /// after `choice_done` are ignored.
  virtual std::vector<Event> push(int32_t choice, const TokenOutput& output) = 0;
  /// True once the choice needs no more tokens: it finished, or a stop string matched, in
  /// which case the caller cancels its generation.
  virtual bool choice_done(int32_t choice) const = 0;
  /// After every choice is done: the closing events (usage when asked for, `[DONE]`).
  virtual std::vector<Event> finish() = 0;
  /// After every choice is done: the whole response as JSON.
  virtual std::string response() = 0;
  /// The events that report a failure once the status line is out, with the body that a plain
  /// answer would have had.
  virtual std::vector<Event> failed(std::string error_body) {
    return {{.name = {}, .data = std::move(error_body)}};
  }
  /// Arguments of tool calls that were announced as JSON, were not, and went out as strings.
  virtual uint32_t invalid_arguments() const { return 0; }
  /// What keeps a silent stream alive; nothing where a comment line does.
  virtual std::vector<Event> keep_alive() { return {}; }
};

/// A checked, converted, rendered request.
struct PreparedCompletion {
  bool stream = false;
  /// One per choice (`n`).
  std::vector<GenerateRequest> requests;
  std::unique_ptr<ResponseAssembler> assembler;
};

/// `POST /v1/chat/completions`. `response_id` is what the client sees as `id`; `created` is
/// the time in seconds since 1970. Errors carry param and reason.
Result<PreparedCompletion> prepare_chat_completion(std::string_view body, const ServiceInfo& info,
                                                   const recipe::Recipe& recipe,
                                                   const std::string& response_id, int64_t created);

/// `POST /v1/messages`.
Result<PreparedCompletion> prepare_messages(std::string_view body, const ServiceInfo& info,
                                            const recipe::Recipe& recipe,
                                            const std::string& response_id, int64_t created);

/// `POST /v1/messages/count_tokens`: `{"input_tokens"}` of a Messages body.
Result<std::string> count_messages_tokens(std::string_view body, const ServiceInfo& info,
                                          const recipe::Recipe& recipe);

/// `POST /v1/responses`.
Result<PreparedCompletion> prepare_responses(std::string_view body, const ServiceInfo& info,
                                             const recipe::Recipe& recipe,
                                             const std::string& response_id, int64_t created);

/// `POST /v1/completions`: raw text or tokens go on without a chat template.
Result<PreparedCompletion> prepare_completions(std::string_view body, const ServiceInfo& info,
                                               const recipe::Recipe& recipe,
                                               const std::string& response_id, int64_t created);

/// `POST /tokenize`: a `prompt`, or chat `messages` with what goes with them →
/// `{"count", "max_model_len", "tokens", "token_strs"}`.
Result<std::string> tokenize(std::string_view body, const ServiceInfo& info,
                             const recipe::Recipe& recipe);

/// `POST /detokenize`: `tokens` → `{"prompt"}`.
Result<std::string> detokenize(std::string_view body, const ServiceInfo& info,
                               const recipe::Recipe& recipe);

}  // namespace deepinfer::protocol
