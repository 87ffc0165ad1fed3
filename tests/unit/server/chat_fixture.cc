#include "chat_fixture.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "support/scripted_scenario.h"

namespace deepinfer::server::testing {

using ::deepinfer::testing::parse_scenario;
using ::deepinfer::testing::ScriptedCounts;
using ::deepinfer::testing::ScriptedLlm;

namespace {

constexpr char kConfigDir[] = "tests/data/tiny-a";
constexpr char kTokenizerDir[] = "tests/data/tokenizer-v4.1";
constexpr char kScenario[] = R"({
  "PLAIN": [{"text": "It is forty-two.", "per_token": true}],
  "EMOJI": [{"text": "a🙂b", "per_token": true}],
  "LINES": [{"text": "one\ntwo\r\n\nthree"}],
  "SLOW": [{"text": "late", "delay_ms": 300}],
  "STEADY": [{"text": "tick tick tick tick tick", "per_token": true, "delay_ms": 20}],
  "ENDLESS": [{"text": "more ", "delay_ms": 5, "repeat": true}],
  "SILENT": [{"text": "never", "delay_ms": 3600000}],
  "BROKEN": [{"fail": "the engine broke"}],
  "BREAKS": [{"text": "so far "}, {"delay_ms": 20, "fail": "the engine broke"}],
  "LATER": [{"delay_ms": 200, "fail": "the engine broke"}],
  "FULL": [{"refuse": "server_overloaded"}],
  "GONE": [{"refuse": "unavailable"}]
})";

// A tokenizer of this size takes long to load; all tests share one.
class SharedTokenizer final : public recipe::Tokenizer {
 public:
  explicit SharedTokenizer(const recipe::Tokenizer& shared) : shared_(shared) {}
  std::vector<TokenId> encode_plain(std::string_view text) const override {
    return shared_.encode_plain(text);
  }
  std::vector<TokenId> encode_full(std::string_view text) const override {
    return shared_.encode_full(text);
  }
  std::string_view token_bytes(TokenId id) const override { return shared_.token_bytes(id); }
  bool is_special(TokenId id) const override { return shared_.is_special(id); }
  std::optional<TokenId> special_id(std::string_view spelling) const override {
    return shared_.special_id(spelling);
  }
  int32_t vocab_size() const override { return shared_.vocab_size(); }

 private:
  const recipe::Tokenizer& shared_;
};

const recipe::Recipe& shared_recipe() {
  static const auto kRecipe = recipe::Recipe::make(kConfigDir, kTokenizerDir);
  EXPECT_TRUE(kRecipe.has_value()) << kRecipe.error().message();
  return **kRecipe;
}

std::unique_ptr<recipe::Recipe> make_recipe() {
  const recipe::Recipe& shared = shared_recipe();
  return std::make_unique<recipe::Recipe>(shared.encoding(),
                                          std::make_unique<SharedTokenizer>(shared.tokenizer()),
                                          shared.control(), shared.has_chat_tokens());
}

}  // namespace

std::string ParsedStream::content() const {
  std::string text;
  for (const Json& chunk : chunks) {
    if (chunk.contains("choices") && !chunk["choices"].empty()) {
      const Json& delta = chunk["choices"][0]["delta"];
      if (delta.contains("content") && delta["content"].is_string()) {
        text += delta["content"].get<std::string>();
      }
    }
  }
  return text;
}

ParsedStream parse_stream(const std::string& body) {
  ParsedStream stream;
  size_t position = 0;
  while (position < body.size()) {
    const size_t end = body.find("\n\n", position);
    if (end == std::string::npos) {
      stream.well_formed = false;
      break;
    }
    const std::string event = body.substr(position, end - position);
    position = end + 2;
    if (event == ": keep-alive") {
      ++stream.num_comments;
    } else if (event == "data: [DONE]") {
      ++stream.num_done;
    } else if (event.compare(0, 6, "data: ") == 0 &&
               event.find_first_of("\r\n") == std::string::npos && Json::accept(event.substr(6))) {
      stream.chunks.push_back(Json::parse(event.substr(6)));
    } else {
      stream.well_formed = false;
    }
  }
  return stream;
}

ChatFixture::ChatFixture() : scenario_(kScenario) {
  spdlog::set_level(spdlog::level::off);
  config_.port = 0;
  config_.served_model_names = {"scripted", "alias"};
}

ChatFixture::~ChatFixture() {
  server_.reset();
}

void ChatFixture::listen() {
  service_ = std::make_unique<Service>(
      protocol::ServiceInfo{.model_names = config_.served_model_names,
                            .repeat_open_reasoning = repeat_open_reasoning_,
                            .default_max_tokens = config_.default_max_tokens});
  auto server = Server::listen(config_, *service_, tuning_);
  ASSERT_TRUE(server.has_value()) << server.error().message();
  server_ = *std::move(server);
  server_->start();
}

void ChatFixture::load() {
  auto recipe = make_recipe();
  const recipe::Tokenizer& tokenizer = recipe->tokenizer();
  auto script_for = parse_scenario(scenario_, tokenizer);
  ASSERT_TRUE(script_for.has_value()) << script_for.error().message();
  const ModelInfo model{.vocab_size = tokenizer.vocab_size(),
                        .max_model_len = 4096,
                        .eos_token_ids = {recipe->control().eos},
                        .system_fingerprint = "scripted"};
  auto llm = std::make_unique<ScriptedLlm>(model, limits_, *std::move(script_for));
  llm_ = llm.get();
  service_->start_serving(std::move(recipe), std::move(llm));
}

RawResponse ChatFixture::exchange(const std::string& request) {
  RawClient client = connect();
  client.send(request);
  return client.read_response(request.compare(0, 4, "HEAD") == 0).value_or(RawResponse{});
}

std::string ChatFixture::chat(const std::string& text, const Json& more) {
  Json body = {{"model", "scripted"},
               {"messages", Json::array({{{"role", "user"}, {"content", text}}})},
               {"thinking", {{"type", "disabled"}}}};
  body.update(more);
  return body.dump();
}

std::string ChatFixture::chat_post(const std::string& text, const Json& more) {
  return post_text("/v1/chat/completions", chat(text, more));
}

::testing::AssertionResult ChatFixture::engine_is_empty() const {
  const bool empty = llm_->wait_until(
      [](const ScriptedCounts& counts) { return counts.running + counts.waiting == 0; });
  return empty ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "still at work";
}

}  // namespace deepinfer::server::testing
