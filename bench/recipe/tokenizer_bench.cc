// What text costs on an HTTP thread: loading a tokenizer, rendering and tokenizing a chat of
// about 8 K tokens, decoding them again. Run from the source root, with `taskset -c 0` for one
// core; compare_tokenizers.py measures the `tokenizers` package on the same text.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "recipe/chat_encoder.h"
#include "recipe/detokenizer.h"
#include "recipe/tokenizer.h"

namespace deepinfer::recipe {
namespace {

constexpr const char* kTokenizerDir = "tests/data/tokenizer-v4.1";
constexpr const char* kTextPath = "bench/recipe/chat_text.txt";
/// The text is repeated until a chat has about 8 K tokens.
constexpr int kMessages = 15;

const Tokenizer& tokenizer() {
  static const auto loaded = Tokenizer::load(kTokenizerDir);
  if (!loaded) {
    std::cerr << loaded.error().message() << "\n";
    std::exit(1);
  }
  return **loaded;
}

const std::string& text() {
  static const std::string content = [] {
    std::ifstream file(kTextPath);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  if (content.empty()) {
    std::cerr << kTextPath << ": cannot be read; run from the source root\n";
    std::exit(1);
  }
  return content;
}

std::string chat_text() {
  std::string all;
  for (int i = 0; i < kMessages; ++i) all += text();
  return all;
}

void load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::load(kTokenizerDir));
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

void encode_plain(benchmark::State& state) {
  const std::string all = chat_text();
  const Tokenizer& loaded = tokenizer();
  size_t num_tokens = 0;
  for (auto _ : state) {
    const auto ids = loaded.encode_plain(all);
    benchmark::DoNotOptimize(ids.data());
    num_tokens = ids.size();
  }
  state.counters["tokens"] = static_cast<double>(num_tokens);
  state.SetBytesProcessed(static_cast<int64_t>(all.size()) * state.iterations());
}
BENCHMARK(encode_plain)->Unit(benchmark::kMillisecond);

void render_and_encode(benchmark::State& state) {
  Conversation conversation{.thinking_mode = true};
  for (int i = 0; i < kMessages; ++i) {
    conversation.messages.push_back(
        {.role = i % 2 == 0 ? Role::kUser : Role::kAssistant, .content = text()});
  }
  const Tokenizer& loaded = tokenizer();
  size_t num_tokens = 0;
  for (auto _ : state) {
    const auto ids = encode(render(Encoding::kV41, conversation), loaded);
    if (!ids) state.SkipWithError(ids.error().message().c_str());
    num_tokens = ids ? ids->size() : 0;
  }
  state.counters["tokens"] = static_cast<double>(num_tokens);
}
BENCHMARK(render_and_encode)->Unit(benchmark::kMillisecond);

/// One word of the given length that no vocabulary has.
void encode_long_word(benchmark::State& state) {
  std::string word;
  for (int64_t i = 0; i < state.range(0); ++i) {
    word += static_cast<char>('a' + (i * i + i / 7) % 26);
  }
  const Tokenizer& loaded = tokenizer();
  for (auto _ : state) benchmark::DoNotOptimize(loaded.encode_plain(word).data());
  state.SetComplexityN(state.range(0));
}
BENCHMARK(encode_long_word)->Range(1 << 10, 1 << 20)->Unit(benchmark::kMillisecond)->Complexity();

void detokenize(benchmark::State& state) {
  const std::vector<TokenId> ids = tokenizer().encode_plain(chat_text());
  for (auto _ : state) {
    IncrementalDetokenizer stream(tokenizer());
    for (const TokenId id : ids) benchmark::DoNotOptimize(stream.push(id).data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(ids.size()) * state.iterations());
}
BENCHMARK(detokenize)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace deepinfer::recipe

BENCHMARK_MAIN();
