#include "named_events.h"

#include <gtest/gtest.h>

namespace deepinfer::server::testing {

std::vector<NamedEvent> parse_named_events(const std::string& body) {
  std::vector<NamedEvent> events;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    if (end == std::string::npos) {
      ADD_FAILURE() << "no empty line behind: " << body.substr(at);
      break;
    }
    const std::string text = body.substr(at, end - at);
    at = end + 2;
    if (text == ": keep-alive") {
      continue;
    }
    const size_t line = text.find('\n');
    if (text.compare(0, 7, "event: ") != 0 || text.compare(line + 1, 6, "data: ") != 0) {
      ADD_FAILURE() << "not an event: " << text;
      continue;
    }
    events.push_back({text.substr(7, line - 7), Json::parse(text.substr(line + 7))});
    EXPECT_EQ(events.back().data["type"], events.back().name);
  }
  return events;
}

}  // namespace deepinfer::server::testing
