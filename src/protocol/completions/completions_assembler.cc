#include "protocol/completions/completions_assembler.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "protocol/conversion.h"

namespace deepinfer::protocol {
namespace {

void append(CompletionPiece piece, CompletionPiece& whole) {
  whole.text += piece.text;
  std::move(piece.tokens.begin(), piece.tokens.end(), std::back_inserter(whole.tokens));
  whole.token_ids.insert(whole.token_ids.end(), piece.token_ids.begin(), piece.token_ids.end());
}

}  // namespace

CompletionsAssembler::CompletionsAssembler(const Settings& settings, const recipe::Recipe& recipe)
    : settings_(settings), writer_(settings.writer, recipe.tokenizer()) {
  for (const Prompt& prompt : settings_.prompts) {
    for (int32_t i = 0; i < settings.num_choices; ++i) {
      choices_.push_back({.text = CompletionText(recipe.tokenizer(), settings.stop_sequences,
                                                 num_characters(prompt.echo))});
    }
  }
}

const CompletionsAssembler::Prompt& CompletionsAssembler::prompt_of(int32_t choice) const {
  return settings_.prompts[static_cast<size_t>(choice / settings_.num_choices)];
}

std::vector<Event> CompletionsAssembler::push(int32_t index, const TokenOutput& output) {
  DI_CHECK(index >= 0 && static_cast<size_t>(index) < choices_.size());
  Choice& choice = at(index);
  std::vector<Event> events;
  if (!choice.finish_reason.empty()) {
    return events;
  }
  choice.cached_tokens =
      std::max(choice.cached_tokens, static_cast<uint64_t>(output.usage.cached_tokens));
  std::span<const TokenId> tokens(output.tokens);
  const auto& ends = settings_.end_tokens;
  const bool end_token = output.finish == FinishReason::kStop && !tokens.empty() &&
                         std::find(ends.begin(), ends.end(), tokens.back()) != ends.end();
  if (end_token) {
    tokens = tokens.first(tokens.size() - 1);
  }
  CompletionPiece piece;
  choice.text.push(tokens, output.logprobs, piece);
  const bool ended = output.finish == FinishReason::kStop || output.finish == FinishReason::kLength;
  if (ended) {
    choice.end_tokens = end_token && !choice.text.stopped() ? 1 : 0;
    choice.text.finish(piece);
  }
  if (choice.text.stopped() || ended) {
    const bool cut = output.finish == FinishReason::kLength && !choice.text.stopped();
    choice.finish_reason = cut ? "length" : "stop";
  }
  take(index, std::move(piece), events);
  return events;
}

/// Sends a piece, the prompt in front of the first one, and the end.
void CompletionsAssembler::take(int32_t index, CompletionPiece piece, std::vector<Event>& events) {
  Choice& choice = at(index);
  const Prompt& prompt = prompt_of(index);
  const bool first = !choice.begun && !(piece.empty() && choice.finish_reason.empty());
  if (first) {
    choice.begun = true;
    piece.text.insert(0, prompt.echo);
  }
  if (!settings_.stream) {
    append(std::move(piece), choice.whole);
    return;
  }
  const ChatUsage now = settings_.continuous_usage ? usage() : ChatUsage();
  const ChatUsage* so_far = settings_.continuous_usage ? &now : nullptr;
  if (!piece.empty() || first) {
    events.push_back(
        {.name = {},
         .data = writer_.write({{.index = index,
                                 .piece = std::move(piece),
                                 .finish_reason = {},
                                 .prompt_token_ids = first ? &prompt.tokens : nullptr}},
                               so_far)});
  }
  if (!choice.finish_reason.empty()) {
    events.push_back(
        {.name = {},
         .data = writer_.write(
             {{.index = index, .piece = {}, .finish_reason = choice.finish_reason}}, so_far)});
  }
}

bool CompletionsAssembler::choice_done(int32_t index) const {
  DI_CHECK(index >= 0 && static_cast<size_t>(index) < choices_.size());
  return !choices_[static_cast<size_t>(index)].finish_reason.empty();
}

ChatUsage CompletionsAssembler::usage() const {
  ChatUsage usage;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    usage.completion_tokens += choice.text.tokens_taken() + choice.end_tokens;
    if (i % static_cast<size_t>(settings_.num_choices) == 0) {  // a prompt counts once
      const uint64_t prompt_tokens = prompt_of(static_cast<int32_t>(i)).tokens.size();
      usage.prompt_tokens += prompt_tokens;
      usage.cached_tokens += std::min(choice.cached_tokens, prompt_tokens);
    }
  }
  return usage;
}

std::vector<Event> CompletionsAssembler::finish() {
  std::vector<Event> events;
  if (settings_.include_usage) {
    const ChatUsage total = usage();
    events.push_back({.name = {}, .data = writer_.write({}, &total)});
  }
  events.push_back({.name = {}, .data = "[DONE]"});
  return events;
}

std::string CompletionsAssembler::response() {
  std::vector<CompletionChoice> choices;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    choices.push_back({.index = index,
                       .piece = choices_[i].whole,
                       .finish_reason = choices_[i].finish_reason,
                       .prompt_token_ids = &prompt_of(index).tokens});
  }
  const ChatUsage total = usage();
  return writer_.write(choices, &total);
}

}  // namespace deepinfer::protocol
