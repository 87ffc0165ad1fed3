// Any tokens through the assemblers of all protocols: the streamed answer and the plain one, cut
// into different pieces, are the same answer with one end.

#include <array>

#include "fuzz/joined.h"
#include "fuzz/output.h"

using namespace deepinfer;  // a target is one function
using fuzz::AnswerShape;
using fuzz::Json;

namespace {

using Prepare = Result<protocol::PreparedCompletion> (*)(std::string_view,
                                                         const protocol::ServiceInfo&,
                                                         const recipe::Recipe&, const std::string&,
                                                         int64_t);

/// A request whose answer is put together. `stream` is put in front of its members.
struct Request {
  Prepare prepare;
  const AnswerShape& shape;
  std::string_view members;
};

constexpr std::string_view kChatStream = R"("stream":true,"stream_options":{"include_usage":true})";

const std::array<Request, 12> kRequests = {{
    {protocol::prepare_chat_completion, fuzz::kChatAnswer,
     R"("model":"m","messages":[{"role":"user","content":"a"}])"},
    {protocol::prepare_chat_completion, fuzz::kChatAnswer,
     R"("model":"m","messages":[{"role":"user","content":"a"}],"thinking":{"type":"disabled"},
        "logprobs":true,"top_logprobs":2,"stop":["STOP","\n\n","é"])"},
    {protocol::prepare_chat_completion, fuzz::kChatAnswer,
     R"("model":"m","messages":[{"role":"user","content":"a"}],"logprobs":true,
        "tools":[{"type":"function","function":{"name":"f"}}],"stop":"<")"},
    {protocol::prepare_chat_completion, fuzz::kChatAnswer,
     R"("model":"m","messages":[{"role":"user","content":"a"}],"tool_choice":"none",
        "tools":[{"type":"function","function":{"name":"f"}}],"thinking":{"type":"disabled"})"},
    {protocol::prepare_chat_completion, fuzz::kChatAnswer,
     R"("model":"m","messages":[{"role":"user","content":"a"},
        {"role":"assistant","content":"b","prefix":true}])"},
    {protocol::prepare_messages, fuzz::kMessagesAnswer,
     R"("model":"m","max_tokens":1000,"messages":[{"role":"user","content":"a"}],
        "stop_sequences":["STOP","]"])"},
    {protocol::prepare_messages, fuzz::kMessagesAnswer,
     R"("model":"m","max_tokens":1000,"messages":[{"role":"user","content":"a"}],
        "tools":[{"name":"f","input_schema":{"type":"object"}}],"thinking":{"type":"disabled"})"},
    {protocol::prepare_responses, fuzz::kResponsesAnswer,
     R"("model":"m","input":"a","top_logprobs":1,"include":["message.output_text.logprobs"])"},
    {protocol::prepare_responses, fuzz::kResponsesAnswer,
     R"("model":"m","input":"a","reasoning":{"effort":"none"},
        "tools":[{"type":"function","name":"f","parameters":{"type":"object"}},
                 {"type":"custom","name":"g"}])"},
    {protocol::prepare_completions, fuzz::kCompletionsAnswer,
     R"("model":"m","prompt":"a b","max_tokens":1000,"logprobs":1,"stop":["STOP","é"])"},
    {protocol::prepare_completions, fuzz::kCompletionsAnswer,
     R"("model":"m","prompt":"a b","max_tokens":1000,"echo":true,"stop":"\n")"},
    {protocol::prepare_completions, fuzz::kCompletionsAnswer,
     R"("model":"m","prompt":[5,6,7],"max_tokens":1000,"echo":true,"return_token_ids":true)"},
}};

struct Answer {
  std::vector<protocol::Event> events;
  Json response;
};

TokenOutput piece_of(const GenerateRequest& request, std::span<const TokenId> ids) {
  TokenOutput output;
  output.tokens.assign(ids.begin(), ids.end());
  if (request.sampling.logprobs) {
    for (const TokenId id : ids) {
      PositionLogprobs& position = output.logprobs.emplace_back();
      position.chosen = {id, -0.125F * static_cast<float>(id % 64)};
      for (int32_t k = 0; k < request.sampling.top_logprobs; ++k) {
        position.top.push_back({(id + k) % 2048, -0.5F * static_cast<float>(k)});
      }
    }
  }
  return output;
}

/// Plays `ids`; an output without its own end is cut by the limit.
Answer play(const Request& request, bool stream, std::span<const TokenId> ids, uint8_t cuts_seed) {
  const bool usage = stream && request.shape.joined != fuzz::kMessagesAnswer.joined &&
                     request.shape.joined != fuzz::kResponsesAnswer.joined;
  std::string body = usage ? "{" + std::string(kChatStream) + ","
                           : std::string(R"({"stream":)") + (stream ? "true," : "false,");
  body.append(request.members).append("}");
  auto prepared = request.prepare(body, fuzz::demo_service(), fuzz::demo_recipe(), "id", 1);
  fuzz::expect(prepared.has_value(), "a request of this target that is refused",
               prepared ? body : prepared.error().message());
  protocol::ResponseAssembler& assembler = *prepared->assembler;
  const bool ends = !ids.empty() && ids.back() == fuzz::demo_recipe().control().eos;

  Answer answer;
  fuzz::Cuts cuts(cuts_seed);
  do {
    const size_t n = cuts.next(ids.size());
    TokenOutput output = piece_of(prepared->requests[0], ids.first(n));
    ids = ids.subspan(n);
    if (ids.empty()) {
      output.finish = ends ? FinishReason::kStop : FinishReason::kLength;
    }
    for (protocol::Event& event : assembler.push(0, output)) {
      answer.events.push_back(std::move(event));
    }
  } while (!ids.empty() && !assembler.choice_done(0));
  fuzz::expect(assembler.choice_done(0), "an output that does not end");
  for (protocol::Event& event : assembler.finish()) {
    answer.events.push_back(std::move(event));
  }
  answer.response = fuzz::expect_json(assembler.response());
  return answer;
}

/// Every text that a client shows.
void expect_texts(const Json& value, const fuzz::OutputFacts& facts, bool hides_markup) {
  if (value.is_string()) {
    fuzz::expect_text(value.get_ref<const std::string&>(), facts, hides_markup);
  } else if (value.is_structured()) {
    for (const auto& [name, member] : value.items()) {
      if (name != "logprobs") {  // they name tokens, not text
        expect_texts(member, facts, hides_markup);
      }
    }
  }
}

void expect_same(const Json& a, const Json& b, std::string_view what) {
  if (a != b) {
    fuzz::finding(what, a.dump(1, ' ', false, Json::error_handler_t::replace) + "\n" +
                            b.dump(1, ' ', false, Json::error_handler_t::replace));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Choices choices(fuzz::as_text(data, size));
  const Request& request = kRequests[choices.below(kRequests.size())];
  const uint8_t streamed_cuts = choices.byte();
  const uint8_t plain_cuts = choices.byte();
  const std::vector<TokenId> ids = fuzz::output_tokens(choices.rest());

  const Answer streamed = play(request, true, ids, streamed_cuts);
  const Answer plain = play(request, false, ids, plain_cuts);
  expect_same(request.shape.joined(streamed.events), request.shape.plain(plain.response),
              "a streamed answer that differs from the plain one");
  const bool hides_markup = request.shape.joined != fuzz::kCompletionsAnswer.joined;
  expect_texts(request.shape.plain(plain.response), fuzz::facts_of(ids), hides_markup);
  return 0;
}
