#pragma once

/// The four generating endpoints as one table, and what a client takes from their answers, so that
/// a case that concerns all of them is one loop.

#include <string>
#include <vector>

#include "chat_fixture.h"

namespace deepinfer::server::testing {

struct Endpoint {
  std::string path;
  /// The member that holds the conversation.
  std::string input;
  /// The member that bounds the output.
  std::string limit;
  /// `data: [DONE]` ends its streams.
  bool says_done;
  /// What turns thinking off.
  Json no_thinking;

  /// A body whose user says `text`, without thinking; `more` is merged in.
  Json body(const std::string& text, const Json& more = Json::object()) const;
  std::string post(const std::string& text, const Json& more = Json::object()) const;
};

/// Chat Completions, Messages, Responses, raw completions.
const std::vector<Endpoint>& endpoints();
/// The first three.
std::vector<Endpoint> chat_endpoints();

/// A tool call as clients end up with it.
struct AnsweredCall {
  std::string id;
  std::string name;
  std::string arguments;
  bool operator==(const AnsweredCall& other) const = default;
};

/// The first choice of an answer.
struct Answer {
  std::string text;
  std::string reasoning;
  std::vector<AnsweredCall> calls;
  /// `finish_reason`, `stop_reason`, or why a response is incomplete ("completed" if it is not).
  std::string ending;
  /// How often that was said.
  int num_endings = 0;
  /// The usage, in the protocol's own form; null if there was none.
  Json usage;

  bool cut() const;
};

/// A stream read to its end.
struct StreamedAnswer : Answer {
  /// Every event's data.
  std::vector<Json> events;
  /// The `error` member of the error event; null without one.
  Json error;
  int num_errors = 0;
  int num_done = 0;
  /// Comments and pings.
  int num_keep_alives = 0;
  /// Every byte belonged to an event or a comment of the exact form, and nothing followed
  /// `[DONE]` or the error.
  bool well_formed = true;
};

Answer read_plain(const std::string& body);
/// Takes the stream byte by byte.
StreamedAnswer read_stream(const std::string& body);

}  // namespace deepinfer::server::testing
