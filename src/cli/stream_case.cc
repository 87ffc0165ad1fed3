#include "cli/stream_case.h"

#include <limits>
#include <utility>

#include "cli/recipe_json.h"

namespace deepinfer::cli {

recipe::ControlTokens case_control_tokens(const recipe::Tokenizer* tokenizer) {
  recipe::ControlTokens control;
  if (tokenizer != nullptr) {
    control.think_end = tokenizer->special_id("</think>").value_or(control.think_end);
    control.dsml = tokenizer->special_id("｜DSML｜").value_or(control.dsml);
  }
  return control;
}

Json CasePlayer::play(const Json& chunks) {
  Json output = {{"pushes", Json::array()}, {"end", Json::array()}, {"consumed", 0}};
  size_t consumed = 0;
  while (consumed < chunks.size() && !done()) {
    std::optional<Json> events = push(chunks[consumed]);
    if (!events.has_value()) {
      output["consumed"] = consumed;
      output["error"] = {{"push", consumed}};
      return output;
    }
    output["pushes"].push_back(*std::move(events));
    ++consumed;
  }
  output["consumed"] = consumed;
  output["end"] = end();
  output["sse_done"] = closing_mark();
  output["response"] = response();
  return output;
}

Result<const Json*> case_chunks(const Json& input) {
  if (!input.contains("chunks") || !input["chunks"].is_array()) {
    return invalid_argument("expected a list of chunks");
  }
  return &input["chunks"];
}

Json first_ready(const Json& input) {
  const Json& chunks = input["chunks"];
  return !chunks.empty() && chunks[0].value("kind", "") == "ready" ? chunks[0] : Json::object();
}

recipe::ParsingOptions case_parsing_or(const Json& input, const recipe::ParsingOptions& converted) {
  const bool given = input.contains("parsing") && input["parsing"].is_object();
  return given ? case_parsing(input["parsing"]) : converted;
}

namespace {

float logprob_value(const Json& value) {
  return value.is_number() ? static_cast<float>(value.get<double>())
                           : -std::numeric_limits<float>::infinity();
}

}  // namespace

std::vector<PositionLogprobs> case_logprobs(const Json& list, const std::vector<TokenId>& ids) {
  std::vector<PositionLogprobs> result;
  for (size_t i = 0; i < list.size() && i < ids.size(); ++i) {
    PositionLogprobs& position = result.emplace_back();
    position.chosen = {ids[i], logprob_value(list[i][0])};
    for (const Json& top : list[i][1]) {
      position.top.push_back({top[0].get<TokenId>(), logprob_value(top[1])});
    }
  }
  return result;
}

Result<const recipe::Tokenizer*> case_tokenizer(const Json& input,
                                                const recipe::Tokenizer* tokenizer) {
  const bool without = !input.value("tokenizer", true);
  if (!without && tokenizer == nullptr) {
    return failed_precondition("this kind needs a tokenizer: give --tokenizer PATH");
  }
  return without ? nullptr : tokenizer;
}

}  // namespace deepinfer::cli
