// What structured output costs: compiling, one mask, and a step of 16 sequences with and without
// it.
//
//   constraint_bench [--benchmark_filter=…]      from the root of the source tree

#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "constraint/constraint.h"
#include "deepinfer/llm.h"
#include "model/token_map.h"

namespace deepinfer {
namespace {

using Kind = ConstraintSpec::Kind;

constexpr int32_t kVocabSize = 129280;
constexpr int kBatch = 16;
constexpr int32_t kTokens = 200;

const char* const kSchema = R"({"type":"object","properties":{
  "name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
  "tags":{"type":"array","items":{"enum":["a","b","c"]},"maxItems":8},
  "place":{"anyOf":[{"$ref":"#/$defs/point"},{"type":"null"}]}},
  "required":["name","age","place"],"$defs":{"point":{"type":"object","properties":{
  "x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}}})";

const std::vector<ConstraintSpec> kSpecs = {
    {.kind = Kind::kJsonObject},
    {.kind = Kind::kJsonSchema, .text = kSchema},
    {.kind = Kind::kRegex, .text = "[a-z ]{1,100}"},
    {.kind = Kind::kToolCalls,
     .tools = {{.name = "book", .parameters = kSchema, .strict = true}},
     .markup = {.marker = 128825, .block = " calls", .space = " "},
     .begins_in_block = true},
};

const constraint::Vocabulary& vocabulary() {
  static const constraint::Vocabulary loaded{
      .tokens = *model::load_token_bytes("tests/data/tokenizer-v4.1", kVocabSize),
      .stop_tokens = {1}};
  return loaded;
}

void read_vocabulary(benchmark::State& state) {
  vocabulary();
  for (auto _ : state) {
    benchmark::DoNotOptimize(constraint::ConstraintCompiler(vocabulary(), {}));
  }
}
BENCHMARK(read_vocabulary)->Unit(benchmark::kMillisecond);

void compile(benchmark::State& state) {
  const ConstraintSpec& spec = kSpecs[static_cast<size_t>(state.range(0))];
  constraint::ConstraintCompiler compiler(vocabulary(), {.cache_bytes = 0});
  for (auto _ : state) {
    const auto compiled = compiler.compile(spec);
    if (!compiled) {
      state.SkipWithError(compiled.error().message().c_str());
      return;
    }
    state.counters["bytes"] = static_cast<double>(compiled->size_bytes());
  }
}
BENCHMARK(compile)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

// Masks along an answer of random allowed tokens, begun anew at its end.
void fill_mask(benchmark::State& state) {
  const ConstraintSpec& spec = kSpecs[static_cast<size_t>(state.range(0))];
  static constraint::ConstraintCompiler compiler(vocabulary(), {});
  constraint::ConstraintState sequence(*compiler.compile(spec));
  std::vector<uint32_t> mask(sequence.mask_words());
  size_t token = 0;
  for (auto _ : state) {
    const bool limited = *sequence.fill_mask(mask);
    state.PauseTiming();
    do {
      token = (token + 7919) % kVocabSize;
    } while (limited && (mask[token / 32] >> (token % 32) & 1U) == 0);
    if (!sequence.accept(static_cast<TokenId>(token)) || sequence.ended()) {
      sequence.reset();
    }
    state.ResumeTiming();
  }
}
BENCHMARK(fill_mask)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond)->Iterations(2000);

Llm& demo() {
  static const std::unique_ptr<Llm> llm = [] {
    EngineConfig config;
    config.model_dir = "models/demo";
    return *Llm::open(config);
  }();
  return *llm;
}

double seconds_of_run(const ConstraintSpec* spec) {
  const uint64_t steps = demo().stats().steps;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<OutputStream>> streams;
  for (uint64_t i = 0; i < kBatch; ++i) {
    GenerateRequest request{.prompt = {1, 2, 3, 4, 5, 6, 7, 8}, .max_tokens = kTokens};
    request.sampling.seed = i;
    request.ignore_eos = spec == nullptr;
    if (spec != nullptr) {
      request.constraint = *spec;
      request.min_tokens = kTokens;
    }
    streams.push_back(*demo().submit(std::move(request)));
  }
  for (auto& stream : streams) {
    while (!std::holds_alternative<StreamEnd>(stream->wait_for(std::chrono::seconds(10)))) {
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(demo().stats().steps - steps);
}

// Free and constrained runs take turns, so that both meet the same machine.
void step_of_16(benchmark::State& state) {
  static const ConstraintSpec kPattern{.kind = Kind::kRegex, .text = "[a-z ]+"};
  static const ConstraintSpec kList{.kind = Kind::kJsonSchema,
                                    .text = R"({"type":"array","items":{"type":"string"}})"};
  const ConstraintSpec& spec = state.range(0) == 0 ? kPattern : kList;
  double free_s = 0;
  double constrained_s = 0;
  seconds_of_run(&spec);
  for (auto _ : state) {
    free_s += seconds_of_run(nullptr);
    constrained_s += seconds_of_run(&spec);
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["free_ms"] = free_s / runs * 1e3;
  state.counters["constrained_ms"] = constrained_s / runs * 1e3;
  state.counters["overhead_percent"] = (constrained_s / free_s - 1) * 100;
}
BENCHMARK(step_of_16)->DenseRange(0, 1)->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace deepinfer

int main(int argc, char** argv) {
  static_cast<void>(deepinfer::base::configure_logging("warning", "text"));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
