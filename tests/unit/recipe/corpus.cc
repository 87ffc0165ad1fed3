#include "corpus.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

namespace deepinfer::recipe::test {
namespace {

template <typename T>
std::optional<T> optional_member(const CaseJson& object, const char* name) {
  if (!object.contains(name) || object.at(name).is_null()) return std::nullopt;
  return object.at(name).get<T>();
}

/// The key of an image's value, by kind.
const char* value_key(ImageSource::Kind kind) {
  if (kind == ImageSource::Kind::kUrl) return "url";
  return kind == ImageSource::Kind::kDataUrl ? "data_url" : "data_base64";
}

const char* kind_name(ImageSource::Kind kind) {
  if (kind == ImageSource::Kind::kUrl) return "url";
  return kind == ImageSource::Kind::kDataUrl ? "data_url" : "bytes";
}

ImageSource image(const CaseJson& value) {
  ImageSource source;
  for (const auto kind : {ImageSource::Kind::kDataUrl, ImageSource::Kind::kBytes}) {
    if (value.at("kind") == kind_name(kind)) source.kind = kind;
  }
  source.detail = value.value("detail", "high");
  source.path = value.value("path", "");
  source.value = value.at(value_key(source.kind)).get<std::string>();
  return source;
}

ToolDeclaration tool(const CaseJson& value) {
  return {.name = value.at("name").get<std::string>(),
          .description = optional_member<std::string>(value, "description"),
          .parameters = value.value("parameters", Json()),
          .strict = optional_member<bool>(value, "strict"),
          .defer_loading = value.value("defer_loading", false)};
}

std::vector<ToolDeclaration> tools(const CaseJson& object) {
  std::vector<ToolDeclaration> result;
  if (!object.contains("tools") || object.at("tools").is_null()) return result;
  for (const auto& value : object.at("tools")) result.push_back(tool(value));
  return result;
}

Role role(const std::string& name) {
  if (name == "system") return Role::kSystem;
  if (name == "assistant") return Role::kAssistant;
  if (name == "tool") return Role::kTool;
  return name == "user" ? Role::kUser : Role::kLatestReminder;
}

ChatMessage message(const CaseJson& value) {
  ChatMessage result;
  result.role = role(value.at("role").get<std::string>());
  result.content = value.at("content").get<std::string>();
  result.tools = tools(value);
  result.reasoning_content = optional_member<std::string>(value, "reasoning_content");
  result.tool_call_id = optional_member<std::string>(value, "tool_call_id");
  result.prefix = value.value("prefix", false);
  for (const auto& source : value.value("images", CaseJson::array())) {
    result.images.push_back(image(source));
  }
  if (!value.contains("tool_calls") || value.at("tool_calls").is_null()) return result;
  for (const auto& call : value.at("tool_calls")) {
    result.tool_calls.push_back({.id = call.at("id").get<std::string>(),
                                 .name = call.at("name").get<std::string>(),
                                 .arguments = call.at("arguments").get<std::string>()});
  }
  return result;
}

ResponseFormat response_format(const std::string& name) {
  if (name == "json_object") return ResponseFormat::kJsonObject;
  if (name == "json_schema") return ResponseFormat::kJsonSchema;
  return name == "regex" ? ResponseFormat::kRegex : ResponseFormat::kText;
}

std::optional<ReasoningEffort> effort(const CaseJson& value) {
  if (value.is_null()) return std::nullopt;
  if (value == "low") return ReasoningEffort::kLow;
  if (value == "high") return ReasoningEffort::kHigh;
  return value == "max" ? ReasoningEffort::kMax : ReasoningEffort::kXhigh;
}

Conversation conversation(const CaseJson& value) {
  Conversation result;
  for (const auto& item : value.at("messages")) result.messages.push_back(message(item));
  result.thinking_mode = value.value("thinking_mode", true);
  result.tools = tools(value);
  const std::string choice = value.value("tool_choice", "auto");
  result.tool_choice = choice == "none"       ? ToolChoice::kNone
                       : choice == "required" ? ToolChoice::kRequired
                                              : ToolChoice::kAuto;
  result.reasoning_effort = effort(value.value("reasoning_effort", CaseJson()));
  result.response_format = response_format(value.value("response_format", "text"));
  result.response_schema = value.value("response_schema", Json());
  result.response_regex = value.value("response_regex", "");
  return result;
}

}  // namespace

RenderInput render_input(const CaseJson& input) {
  return {.encoding = input.at("encoding") == "v4" ? Encoding::kV4 : Encoding::kV41,
          .conversation = conversation(input.at("conversation")),
          .image_token = input.value("special_tokens", CaseJson::object()).value("image", "")};
}

CaseJson images_json(const std::vector<ImageSource>& images) {
  CaseJson result = CaseJson::array();
  for (const ImageSource& source : images) {
    result.push_back({{"kind", kind_name(source.kind)},
                      {"detail", source.detail},
                      {"path", source.path},
                      {value_key(source.kind), source.value}});
  }
  return result;
}

std::vector<CaseJson> read_cases(const std::string& kind) {
  std::ifstream file("tests/data/recipe/" + kind + ".jsonl");
  std::vector<CaseJson> cases;
  for (std::string line; std::getline(file, line);) cases.push_back(CaseJson::parse(line));
  EXPECT_FALSE(cases.empty()) << "no cases of kind " << kind;
  return cases;
}

const Tokenizer& v41_tokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    auto loaded = Tokenizer::load(kTokenizerDir);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    return std::move(*loaded);
  }();
  return *tokenizer;
}

}  // namespace deepinfer::recipe::test
