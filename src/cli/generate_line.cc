#include "cli/generate_line.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "protocol/completion.h"
#include "recipe/detokenizer.h"
#include "recipe/json_reader.h"

namespace deepinfer::cli {
namespace {

// Members that only shape the prompt of `messages`; the chat conversion checks them.
constexpr std::array<std::string_view, 3> kChatMembers = {"tools", "thinking", "reasoning_effort"};

Status wrong_type(std::string_view name, std::string_view expected, const Json& value) {
  return invalid_argument(fmt::format("{} must be {}, got {}", name, expected, value.type_name()));
}

template <typename T>
Result<T> read_integer(std::string_view name, const Json& value) {
  if (!value.is_number_integer()) {
    return wrong_type(name, "an integer", value);
  }
  if (value.is_number_unsigned()) {
    const auto wide = value.get<uint64_t>();
    if (wide <= static_cast<uint64_t>(std::numeric_limits<T>::max())) {
      return static_cast<T>(wide);
    }
  } else if (const auto wide = value.get<int64_t>();
             std::numeric_limits<T>::is_signed &&
             wide >= static_cast<int64_t>(std::numeric_limits<T>::min())) {
    return static_cast<T>(wide);
  }
  return invalid_argument(fmt::format("{} is out of range: {}", name, value.dump()));
}

Result<float> read_float(std::string_view name, const Json& value) {
  if (!value.is_number()) {
    return wrong_type(name, "a number", value);
  }
  return value.get<float>();
}

Result<std::vector<TokenId>> read_token_ids(std::string_view name, const Json& value,
                                            int32_t vocab_size) {
  if (!value.is_array()) {
    return wrong_type(name, "an array of token ids", value);
  }
  std::vector<TokenId> ids;
  ids.reserve(value.size());
  for (const Json& entry : value) {
    DI_ASSIGN(const auto id, read_integer<int32_t>(name, entry));
    if (id < 0 || id >= vocab_size) {
      return invalid_argument(
          fmt::format("{}: {} is not in [0, {}), the vocabulary", name, id, vocab_size));
    }
    ids.push_back(id);
  }
  return ids;
}

// The prompt as it is rendered for a chat request of this model.
Result<std::vector<TokenId>> render_messages(const Json& line, const ModelInfo& model,
                                             const recipe::Recipe& recipe) {
  const std::string name = "model";
  Json body = {{"model", name}, {"messages", line.at("messages")}};
  for (const std::string_view member : kChatMembers) {
    if (const auto found = line.find(member); found != line.end()) {
      body[std::string(member)] = *found;
    }
  }
  DI_ASSIGN(auto prepared,
            protocol::prepare_chat_completion(body.dump(), {.model_names = {name}, .model = model},
                                              recipe, "", 0));
  return std::move(prepared.requests.front().prompt);
}

Result<std::vector<TokenId>> read_prompt(const Json& line, const ModelInfo& model,
                                         const recipe::Recipe& recipe) {
  const auto ids = line.find("prompt_token_ids");
  const auto text = line.find("prompt");
  const bool has_messages = line.contains("messages");
  if ((ids != line.end()) + (text != line.end()) + has_messages != 1) {
    return invalid_argument("exactly one of prompt_token_ids, prompt and messages must be given");
  }
  if (ids != line.end()) {
    return read_token_ids("prompt_token_ids", *ids, model.vocab_size);
  }
  if (has_messages) {
    return render_messages(line, model, recipe);
  }
  if (!text->is_string()) {
    return wrong_type("prompt", "a string", *text);
  }
  std::vector<TokenId> prompt = {recipe.control().bos};
  const auto encoded = recipe.tokenizer().encode_plain(text->get_ref<const std::string&>());
  prompt.insert(prompt.end(), encoded.begin(), encoded.end());
  return prompt;
}

// One member of the line into the request. The prompt is read apart from it.
Status read_member(std::string_view name, const Json& value, const ModelInfo& model,
                   GenerateRequest& request) {
  if (name == "max_tokens") {
    DI_ASSIGN(request.max_tokens, read_integer<int32_t>(name, value));
  } else if (name == "temperature") {
    DI_ASSIGN(request.sampling.temperature, read_float(name, value));
  } else if (name == "top_p") {
    DI_ASSIGN(request.sampling.top_p, read_float(name, value));
  } else if (name == "seed") {
    DI_ASSIGN(request.sampling.seed, read_integer<uint64_t>(name, value));
  } else if (name == "probe_logits") {
    DI_ASSIGN(request.probe_logits, read_token_ids(name, value, model.vocab_size));
  } else if (name == "ignore_eos") {
    if (!value.is_boolean()) {
      return wrong_type(name, "true or false", value);
    }
    request.ignore_eos = value.get<bool>();
  } else {
    return invalid_argument(fmt::format("unknown member '{}'", name));
  }
  return Status::ok();
}

bool shapes_prompt(std::string_view name, bool has_messages) {
  const bool chat = std::find(kChatMembers.begin(), kChatMembers.end(), name) != kChatMembers.end();
  return name == "id" || name == "prompt" || name == "prompt_token_ids" || name == "messages" ||
         (chat && has_messages);
}

Result<GenerateRequest> read_request(const Json& line, const ModelInfo& model,
                                     const recipe::Recipe& recipe) {
  GenerateRequest request;
  request.max_tokens = kDefaultMaxTokens;
  for (const auto& [name, value] : line.items()) {
    if (!shapes_prompt(name, line.contains("messages"))) {
      DI_TRY(read_member(name, value, model, request));
    }
  }
  DI_ASSIGN(request.prompt, read_prompt(line, model, recipe));
  DI_TRY(validate(request));
  return request;
}

std::string id_text(const Json& id) {
  return id.is_string() ? id.get<std::string>() : id.dump();
}

std::string decode(const Generation& generation, const recipe::Tokenizer& tokenizer) {
  recipe::IncrementalDetokenizer detokenizer(tokenizer);
  std::string text;
  std::span<const TokenId> tokens = generation.tokens;
  if (generation.finish == FinishReason::kStop && !tokens.empty()) {
    tokens = tokens.first(tokens.size() - 1);
  }
  for (const TokenId token : tokens) {
    text += detokenizer.push(token);
  }
  return text + detokenizer.finish();
}

std::string_view finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

}  // namespace

GenerateLine parse_generate_line(std::string_view text, int64_t line_number, const ModelInfo& model,
                                 const recipe::Recipe& recipe) {
  const Result<Json> read = recipe::read_json(text, {});
  if (!read.has_value() || !read->is_object()) {
    return {
        line_number,
        read.has_value()
            ? invalid_argument(fmt::format("line {} is not a JSON object", line_number))
            : read.error().with_context(fmt::format("line {} is not a JSON object", line_number))};
  }
  const Json& line = *read;
  const auto id = line.find("id");
  Result<GenerateRequest> request = read_request(line, model, recipe);
  GenerateLine parsed{id != line.end() ? *id : Json(line_number), std::move(request)};
  if (parsed.request.has_value()) {
    parsed.request->id = id_text(parsed.id);
  }
  return parsed;
}

std::string format_generate_line(const Json& id, const Outcome& outcome,
                                 const recipe::Tokenizer& tokenizer) {
  Json out = {{"id", id}};
  if (!outcome.has_value()) {
    out["error"] = outcome.error().message();
  } else {
    out["token_ids"] = outcome->tokens;
    out["text"] = decode(*outcome, tokenizer);
    out["finish_reason"] = finish_name(outcome->finish);
    out["usage"] = {{"prompt_tokens", outcome->usage.prompt_tokens},
                    {"cached_tokens", outcome->usage.cached_tokens},
                    {"completion_tokens", outcome->usage.completion_tokens}};
    for (const auto& [token, logit] : outcome->probe_logits) {
      out["logits"][std::to_string(token)] = logit;
    }
  }
  return out.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace deepinfer::cli
