#include "support/scripted_scenario.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace deepinfer::testing {
namespace {

using Json = nlohmann::json;
using Scripts = std::map<std::string, Script>;

Status refusal_of(const std::string& reason) {
  if (reason == "server_overloaded") {
    return resource_exhausted("the queue is full").with_reason(reason);
  }
  if (reason == "unavailable") {
    return unavailable("the engine is gone").with_reason("engine_failed");
  }
  return invalid_argument("the script refuses this request").with_reason(reason);
}

void add_steps(const Json& json, const recipe::Tokenizer& tokenizer, Script& script) {
  ScriptStep step;
  step.delay = std::chrono::milliseconds(json.value("delay_ms", 0));
  step.repeat = json.value("repeat", false);
  if (json.contains("text")) {
    step.tokens = tokenizer.encode_full(json["text"].get<std::string>());
  }
  if (json.contains("ids")) {
    step.tokens = json["ids"].get<std::vector<TokenId>>();
  }
  if (json.contains("fail")) {
    step.failure = internal_error(json["fail"].get<std::string>());
  }
  if (!json.value("per_token", false)) {
    script.steps.push_back(std::move(step));
    return;
  }
  for (const TokenId token : step.tokens) {
    script.steps.push_back({.tokens = {token}, .delay = step.delay});
  }
}

Script parse_script(const Json& json, const recipe::Tokenizer& tokenizer) {
  Script script;
  for (const Json& step : json) {
    if (step.contains("refuse")) {
      script.refusal = refusal_of(step["refuse"].get<std::string>());
    } else {
      add_steps(step, tokenizer, script);
    }
  }
  return script;
}

std::string decoded(const std::vector<TokenId>& tokens, const recipe::Tokenizer& tokenizer) {
  std::string text;
  for (const TokenId token : tokens) {
    text += tokenizer.token_bytes(token);
  }
  return text;
}

Script script_in(const Scripts& scripts, const std::string& prompt) {
  const auto standard = scripts.find("*");
  const Script* found = standard == scripts.end() ? nullptr : &standard->second;
  size_t last = 0;
  for (const auto& [marker, script] : scripts) {
    const size_t position = prompt.rfind(marker);
    if (marker != "*" && position != std::string::npos && position >= last) {
      found = &script;
      last = position;
    }
  }
  return found == nullptr ? Script{} : *found;
}

}  // namespace

Result<ScriptedLlm::ScriptFor> parse_scenario(const std::string& json,
                                              const recipe::Tokenizer& tokenizer) {
  Scripts scripts;
  std::string marker;
  try {
    const Json scenario = Json::parse(json);
    for (const auto& [name, steps] : scenario.items()) {
      marker = name;
      scripts[name] = parse_script(steps, tokenizer);
    }
  } catch (const Json::exception& error) {
    return invalid_argument("scenario: '" + marker + "': " + error.what());
  }
  return ScriptedLlm::ScriptFor(
      [scripts = std::move(scripts), &tokenizer](const GenerateRequest& request) {
        return script_in(scripts, decoded(request.prompt, tokenizer));
      });
}

}  // namespace deepinfer::testing
