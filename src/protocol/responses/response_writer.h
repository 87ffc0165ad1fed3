#pragma once

/// The JSON of events and of the response object (recipe spec §10, "Events").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "protocol/completion.h"
#include "protocol/recipe_policy.h"
#include "protocol/responses/output_item.h"
#include "protocol/responses/responses_request.h"

namespace deepinfer::protocol {

struct ResponsesUsage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t reasoning_tokens = 0;
};

struct ResponsesEnvelope {
  std::string id;
  std::string model;
  /// Seconds since 1970.
  int64_t created = 0;
};

/// What the response object says of its own state.
struct ResponsesState {
  /// `in_progress`, `completed`, `incomplete` or `failed`.
  std::string_view status = "in_progress";
  /// Why it is incomplete; empty if it is not.
  std::string_view incomplete_reason;
  /// Seconds since 1970; 0 while it runs.
  int64_t completed = 0;
  /// `{"code", "message"}` of a failure; empty for none.
  std::string error;
  /// Absent while it runs.
  std::optional<ResponsesUsage> usage;
};

class ResponseWriter {
 public:
  /// The response reports the request's own settings.
  ResponseWriter(const ResponsesEnvelope& envelope, const ResponsesRequest& request,
                 const RecipePolicy& policy);

  const ResponsesEnvelope& envelope() const { return envelope_; }

  /// The response object, with the items that are given.
  std::string response(const ResponsesState& state, const std::vector<OutputItem>& items) const;

  // Events; each takes the next number.
  /// `response.created` and the like, around the response object.
  Event response_event(std::string_view type, std::string_view response);
  Event item_added(const OutputItem& item);
  Event item_done(const OutputItem& item);
  Event part_added(const OutputItem& item);
  Event part_done(const OutputItem& item);
  /// A piece of text of any kind of item that sends some; `logprobs` are entries or empty.
  Event text_delta(const OutputItem& item, std::string_view text, std::string_view logprobs);
  Event text_done(const OutputItem& item);
  /// A failure of the stream: as the protocol has it, with the members of a plain answer's error
  /// beside it.
  Event error(std::string_view error_body);

 private:
  Event begin(std::string_view type);
  Event on_item(std::string_view type, const OutputItem& item);

  const ResponsesEnvelope envelope_;
  /// Members between those that change.
  std::string before_output_;
  std::string before_usage_;
  std::string after_usage_;
  uint64_t next_number_ = 0;
};

}  // namespace deepinfer::protocol
