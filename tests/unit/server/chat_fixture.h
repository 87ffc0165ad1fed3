#pragma once

/// The whole server with the real recipe and protocol over a scripted engine.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "raw_client.h"
#include "recipe/recipe.h"
#include "server/server.h"
#include "support/scripted_llm.h"

namespace deepinfer::server::testing {

using Json = nlohmann::ordered_json;

/// Events of a stream: the `data:` payloads, `[DONE]` as a string, comments apart.
struct ParsedStream {
  std::vector<Json> chunks;
  int num_done = 0;
  int num_comments = 0;
  /// Every line obeyed the form of server-sent events.
  bool well_formed = true;

  /// Joined `delta.content`.
  std::string content() const;
};
ParsedStream parse_stream(const std::string& body);

class ChatFixture : public ::testing::Test {
 protected:
  ChatFixture();
  ~ChatFixture() override;

  /// Starts listening, not ready yet.
  void listen();
  /// Publishes the scripted engine: from here on requests are served.
  void load();
  void start() {
    listen();
    load();
  }
  RawClient connect() { return RawClient(server_->http().port()); }
  RawClient connect_with_receive_buffer(int bytes) {
    return RawClient(server_->http().port(), "127.0.0.1", bytes);
  }
  RawResponse exchange(const std::string& request);
  /// Body of a chat request whose user says `text`; `more` is merged in.
  static std::string chat(const std::string& text, const Json& more = Json::object());
  static std::string chat_post(const std::string& text, const Json& more = Json::object());
  /// The engine holds nothing any more.
  ::testing::AssertionResult engine_is_empty() const;

  HttpConfig config_;
  bool repeat_open_reasoning_ = false;
  HttpTuning tuning_;
  std::string scenario_;
  ::deepinfer::testing::ScriptedLimits limits_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
  ::deepinfer::testing::ScriptedLlm* llm_ = nullptr;
};

}  // namespace deepinfer::server::testing
