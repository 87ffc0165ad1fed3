// What a streamed token costs between the engine and the socket: detokenizing, parsing, and the
// JSON of its event. One output per token, as the engine sends them. Run from the source root,
// with `taskset -c 0` for one core; the column `time/token` is what counts.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "protocol/completion.h"
#include "recipe/recipe.h"

namespace deepinfer::protocol {
namespace {

constexpr const char* kModelDir = "tests/data/tiny-a";
constexpr const char* kTokenizerDir = "tests/data/tokenizer-v4.1";
constexpr const char* kTextPath = "bench/recipe/chat_text.txt";

const recipe::Recipe& model_recipe() {
  static const auto loaded = recipe::Recipe::make(kModelDir, kTokenizerDir);
  if (!loaded) {
    std::cerr << loaded.error().message() << "\n";
    std::exit(1);
  }
  return **loaded;
}

const ServiceInfo& service() {
  static const ServiceInfo info{.model_names = {"m"},
                                .model = {.vocab_size = model_recipe().tokenizer().vocab_size(),
                                          .max_model_len = 1 << 20,
                                          .eos_token_ids = {model_recipe().control().eos},
                                          .system_fingerprint = "fp"}};
  return info;
}

std::string text() {
  std::ifstream file(kTextPath);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Reasoning, an answer, and calls with the text as a parameter.
std::vector<TokenId> answer_tokens(bool with_calls) {
  std::string answer = text() + "</think>" + text();
  if (with_calls) {
    answer += "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n";
    answer +=
        "<｜DSML｜ parameter name=\"a\" string=\"true\">" + text() + "</｜DSML｜ parameter>\n";
    answer += "</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  }
  return model_recipe().tokenizer().encode_full(answer);
}

std::vector<TokenOutput> one_output_per_token(const std::vector<TokenId>& ids, bool logprobs) {
  std::vector<TokenOutput> outputs;
  for (const TokenId id : ids) {
    TokenOutput& output = outputs.emplace_back();
    output.tokens = {id};
    if (logprobs) {
      output.logprobs.push_back({.chosen = {id, -0.25F}, .top = {}});
      for (int32_t k = 0; k < 5; ++k) {
        output.logprobs.back().top.push_back({id + k, -0.5F * static_cast<float>(k)});
      }
    }
  }
  outputs.back().finish = FinishReason::kLength;
  return outputs;
}

using Prepare = Result<PreparedCompletion> (*)(std::string_view, const ServiceInfo&,
                                               const recipe::Recipe&, const std::string&, int64_t);

void stream(benchmark::State& state, Prepare prepare, const std::string& body, bool with_calls) {
  const bool logprobs = body.find("logprobs") != std::string::npos;
  const auto outputs = one_output_per_token(answer_tokens(with_calls), logprobs);
  size_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto prepared = prepare(body, service(), model_recipe(), "id", 1);
    if (!prepared) {
      state.SkipWithError(prepared.error().message().c_str());
      break;
    }
    state.ResumeTiming();
    for (const TokenOutput& output : outputs) {
      for (const Event& event : prepared->assembler->push(0, output)) {
        bytes += event.data.size();
      }
    }
    state.PauseTiming();
    prepared->assembler.reset();
    state.ResumeTiming();
  }
  benchmark::DoNotOptimize(bytes);
  using benchmark::Counter;
  state.counters["tokens"] = static_cast<double>(outputs.size());
  state.counters["time/token"] = Counter(static_cast<double>(outputs.size()),
                                         Counter::kIsIterationInvariantRate | Counter::kInvert);
}

constexpr const char* kChat =
    R"({"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]})";
constexpr const char* kChatTools =
    R"({"model":"m","stream":true,"messages":[{"role":"user","content":"a"}],"stop":["STOP","###"],
        "tools":[{"type":"function","function":{"name":"f"}}]})";
constexpr const char* kChatLogprobs =
    R"({"model":"m","stream":true,"messages":[{"role":"user","content":"a"}],"logprobs":true,
        "top_logprobs":5})";
constexpr const char* kMessages =
    R"({"model":"m","stream":true,"max_tokens":1000,"messages":[{"role":"user","content":"a"}],
        "tools":[{"name":"f","input_schema":{"type":"object"}}]})";
constexpr const char* kResponses =
    R"({"model":"m","stream":true,"input":"a",
        "tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]})";

BENCHMARK_CAPTURE(stream, chat, prepare_chat_completion, kChat, false);
BENCHMARK_CAPTURE(stream, chat_with_tools, prepare_chat_completion, kChatTools, true);
BENCHMARK_CAPTURE(stream, chat_with_logprobs, prepare_chat_completion, kChatLogprobs, false);
BENCHMARK_CAPTURE(stream, messages_with_tools, prepare_messages, kMessages, true);
BENCHMARK_CAPTURE(stream, responses_with_tools, prepare_responses, kResponses, true);

}  // namespace
}  // namespace deepinfer::protocol

BENCHMARK_MAIN();
