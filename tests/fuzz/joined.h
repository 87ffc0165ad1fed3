#pragma once

/// Streamed and plain answers of a protocol in one shape, so that they compare.

#include <string>
#include <vector>

#include "fuzz/fuzz.h"

namespace deepinfer::fuzz {

/// What the events of one choice add up to. Their order is checked, and that there is one end.
/// Calls that were cut short are left out where the plain answer leaves them out.
struct AnswerShape {
  Json (*joined)(const std::vector<protocol::Event>& events);
  Json (*plain)(const Json& response);
};

extern const AnswerShape kChatAnswer;
extern const AnswerShape kMessagesAnswer;
extern const AnswerShape kResponsesAnswer;
extern const AnswerShape kCompletionsAnswer;

/// Without ids and times, of which no two are alike.
Json without_ids(Json answer);

}  // namespace deepinfer::fuzz
