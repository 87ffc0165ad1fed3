#pragma once

/// Streams whose events carry their type as name: Messages and Responses.

#include <string>
#include <vector>

#include "chat_fixture.h"

namespace deepinfer::server::testing {

struct NamedEvent {
  std::string name;
  Json data;
};

/// The events of a body, without keep-alives. Fails the test on a line of another form and on a
/// name that is not the event's type.
std::vector<NamedEvent> parse_named_events(const std::string& body);

}  // namespace deepinfer::server::testing
