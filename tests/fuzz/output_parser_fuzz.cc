// The output parser under any options and rules, fed with any tokens or text: two groupings give
// the same message, and text without markup comes out as it went in.

#include <algorithm>
#include <array>

#include "fuzz/output.h"
#include "recipe/output_parser.h"
#include "recipe/utf8.h"

using namespace deepinfer;  // a target is one function
using recipe::MessageDelta;
using Kind = recipe::MessageDelta::Kind;

namespace {

struct Case {
  recipe::ParsingOptions options;
  recipe::OutputRules rules;
  bool as_text = false;
  bool flush = false;
  std::string_view bytes;
  /// Either these or, for a backend that sends text, that.
  std::vector<TokenId> ids;
  std::string text;
};

Case case_of(fuzz::Choices& choices) {
  using Stops = std::vector<std::string>;
  static const std::array<Stops, 5> kStops = {Stops{}, Stops{"STOP"}, Stops{"\n", "\n\n"},
                                              Stops{"\xC3\xA9",
                                                    "a\xC3\xA9"
                                                    "b",
                                                    "ab"},
                                              Stops{"}", "<", "]\n"}};
  Case result;
  result.options.parse_tool_calls = choices.flag();
  result.options.starts_in_tool_calls = choices.flag() && result.options.parse_tool_calls;
  result.options.parse_json_output = choices.flag();
  result.options.thinking_initial_stage = static_cast<recipe::ThinkingStage>(choices.below(4));
  result.options.stop_sequences = kStops[choices.below(kStops.size())];
  result.rules = {.hide_markup = choices.flag(),
                  .typed_arguments = choices.flag(),
                  .pad_json = choices.flag(),
                  .exact_tokens = choices.flag()};
  result.as_text = choices.flag();
  result.flush = choices.flag();
  return result;
}

struct Parsed {
  /// Adjacent texts of one channel are joined.
  std::vector<MessageDelta> parts;
  uint32_t tokens_taken = 0;
  uint32_t reasoning_tokens = 0;
  uint32_t invalid_values = 0;
  bool stopped = false;
  std::string stop;
};

void join(std::vector<MessageDelta>& deltas, Parsed& parsed) {
  for (MessageDelta& delta : deltas) {
    const bool text = delta.kind != Kind::kCallBegin && delta.kind != Kind::kCallEnd;
    if (text && !parsed.parts.empty() && parsed.parts.back().kind == delta.kind &&
        parsed.parts.back().call_index == delta.call_index) {
      parsed.parts.back().text += delta.text;
    } else {
      parsed.parts.push_back(std::move(delta));
    }
  }
  deltas.clear();
}

void expect_deltas(const std::vector<MessageDelta>& deltas, const recipe::OutputParser& parser,
                   const Case& input, const fuzz::OutputFacts& facts) {
  for (const MessageDelta& delta : deltas) {
    fuzz::expect(delta.token_begin <= delta.token_end && delta.token_end <= parser.tokens_taken(),
                 "a piece of tokens that did not come", delta.text);
    const bool in_call = delta.kind >= Kind::kCallBegin;
    fuzz::expect(!in_call || (delta.call_index >= 0 && delta.call_index < parser.calls_begun()),
                 "a piece of a call that did not begin", delta.text);
    if (!input.as_text) {
      fuzz::expect_text(delta.text, facts, input.rules.hide_markup);
    }
  }
}

/// Text arrives in whole characters.
size_t whole_characters(std::string_view text, size_t n) {
  while (n < text.size() && (static_cast<uint8_t>(text[n]) & 0xC0) == 0x80) {
    ++n;
  }
  return n;
}

Parsed parse(const Case& input, uint8_t cuts_seed) {
  const recipe::Recipe& recipe = fuzz::demo_recipe();
  recipe::OutputParser parser(&recipe.tokenizer(), recipe.control(), input.options, input.rules);
  const fuzz::OutputFacts facts = fuzz::facts_of(input.ids);
  fuzz::Cuts cuts(cuts_seed);
  Parsed parsed;
  std::vector<MessageDelta> deltas;
  const size_t size = input.as_text ? input.text.size() : input.ids.size();
  for (size_t begin = 0; begin < size && !parser.stopped();) {
    size_t n = cuts.next(size - begin);
    if (input.as_text) {
      const std::string_view rest = std::string_view(input.text).substr(begin);
      n = whole_characters(rest, n);
      parser.push_text(rest.substr(0, n), deltas);
    } else {
      parser.push_tokens(std::span(input.ids).subspan(begin, n), deltas);
    }
    expect_deltas(deltas, parser, input, facts);
    join(deltas, parsed);
    begin += n;
  }
  parser.finish(input.flush, deltas);
  expect_deltas(deltas, parser, input, facts);
  join(deltas, parsed);
  parsed.tokens_taken = parser.tokens_taken();
  parsed.reasoning_tokens = parser.reasoning_tokens();
  parsed.invalid_values = parser.invalid_values();
  parsed.stopped = parser.stopped();
  parsed.stop = parser.stop_sequence().value_or(std::string_view());
  return parsed;
}

/// Spaces around a JSON answer stand for its surroundings, one for each fragment of them.
std::string_view comparable(const MessageDelta& part, const Case& input) {
  std::string_view text = part.text;
  if (input.options.parse_json_output && part.kind == Kind::kContent) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    text = text.substr(0, text.find_last_not_of(' ') + 1);
  }
  return text;
}

/// Parts without those of which nothing is left to compare.
std::vector<MessageDelta> comparable(const Parsed& parsed, const Case& input) {
  std::vector<MessageDelta> parts;
  for (const MessageDelta& part : parsed.parts) {
    const std::string_view text = comparable(part, input);
    if (!text.empty() || part.kind >= Kind::kCallBegin) {
      parts.push_back(
          {.kind = part.kind, .call_index = part.call_index, .text = std::string(text)});
    }
  }
  return parts;
}

void expect_same(const Parsed& a, const Parsed& b, const Case& input) {
  const auto same = [](const MessageDelta& x, const MessageDelta& y) {
    return x.kind == y.kind && x.call_index == y.call_index && x.text == y.text;
  };
  // A stream that ends inside a character loses it without a flush, and the tokens that came with
  // it.
  if (!input.flush) {
    return;
  }
  const auto left = comparable(a, input);
  const auto right = comparable(b, input);
  fuzz::expect(std::equal(left.begin(), left.end(), right.begin(), right.end(), same),
               "a message that depends on the grouping", input.bytes);
  fuzz::expect(a.stopped == b.stopped && a.stop == b.stop, "a stop that depends on the grouping",
               input.bytes);
  if (input.rules.exact_tokens) {
    fuzz::expect(a.tokens_taken == b.tokens_taken && a.reasoning_tokens == b.reasoning_tokens &&
                     a.invalid_values == b.invalid_values,
                 "counts that depend on the grouping", input.bytes);
  }
}

/// Calls begin, get arguments and end in this order, one after another.
void expect_calls(const Parsed& parsed, const Case& input) {
  int32_t open = -1;
  std::string arguments;
  for (const MessageDelta& part : parsed.parts) {
    if (part.kind == Kind::kCallBegin) {
      fuzz::expect(part.call_index > open, "calls out of order", input.bytes);
      open = part.call_index;
      arguments.clear();
    } else if (part.kind == Kind::kCallArguments) {
      fuzz::expect(part.call_index == open, "arguments of another call", input.bytes);
      arguments += part.text;
    } else if (part.kind == Kind::kCallEnd) {
      fuzz::expect(part.call_index == open, "the end of another call", input.bytes);
      if (input.rules.typed_arguments && !input.as_text) {
        fuzz::expect(fuzz::expect_json(arguments).is_object(), "arguments that are no object",
                     arguments);
      }
    }
  }
}

/// Output in which nothing can be a marker is its text, ends of reasoning apart.
void expect_as_it_stands(const Parsed& parsed, const Case& input) {
  const auto& options = input.options;
  const bool plain = !options.parse_tool_calls && !options.parse_json_output &&
                     options.stop_sequences.empty() && !input.rules.hide_markup &&
                     options.thinking_initial_stage == recipe::ThinkingStage::kContentContinuation;
  if (!plain || input.as_text) {
    return;
  }
  const recipe::Recipe& recipe = fuzz::demo_recipe();
  recipe::IncrementalDetokenizer detokenizer(recipe.tokenizer());
  std::string text;
  for (const TokenId id : input.ids) {
    text += detokenizer.push(id);
    if (id == recipe.control().think_end) {
      text.resize(text.size() - recipe.tokenizer().token_bytes(id).size());
    }
  }
  text += input.flush ? detokenizer.finish() : std::string();
  std::string content;
  for (const MessageDelta& part : parsed.parts) {
    fuzz::expect(part.kind == Kind::kContent, "something else than content", input.bytes);
    content += part.text;
  }
  fuzz::expect(content == text, "content that is not its text", content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Choices choices(fuzz::as_text(data, size));
  Case input = case_of(choices);
  const uint8_t first_cuts = choices.byte();
  const uint8_t second_cuts = choices.byte();
  input.bytes = choices.rest();
  if (input.as_text) {
    recipe::append_lossy(input.bytes, input.text);
  } else {
    input.ids = fuzz::output_tokens(input.bytes);
  }
  const Parsed parsed = parse(input, first_cuts);
  expect_same(parsed, parse(input, second_cuts), input);
  expect_calls(parsed, input);
  expect_as_it_stands(parsed, input);
  return 0;
}
