#include "fuzz/joined.h"

#include <algorithm>
#include <array>
#include <utility>

namespace deepinfer::fuzz {
namespace {

using protocol::Event;

/// The text of a member, or nothing if it is absent or null.
std::string text_of(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_object_text(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false).is_object();
}

void append_all(const Json& list, Json& target) {
  if (list.is_array()) {
    target.insert(target.end(), list.begin(), list.end());
  }
}

// ------------------------------------------------------------------------- chat

Json empty_chat() {
  return {{"content", ""}, {"reasoning", ""}, {"calls", Json::array()}, {"logprobs", Json::array()},
          {"finish", ""},  {"usage", nullptr}};
}

void add_text(const Json& message, Json& answer) {
  answer["content"] = text_of(answer, "content") + text_of(message, "content");
  answer["reasoning"] = text_of(answer, "reasoning") + text_of(message, "reasoning_content");
}

/// Entries for the answer, then those for the reasoning, each marked.
void add_logprobs(const Json& choice, Json& answer) {
  const auto found = choice.find("logprobs");
  if (found == choice.end() || !found->is_object()) {
    return;
  }
  for (const char* member : {"content", "reasoning_content"}) {
    const auto list = found->find(member);
    if (list != found->end() && list->is_array()) {
      for (const Json& entry : *list) {
        answer["logprobs"].push_back({{member, entry}});
      }
    }
  }
}

void add_call_piece(const Json& piece, Json& calls) {
  const auto index = piece.at("index").get<size_t>();
  const Json& function = piece.at("function");
  if (function.contains("name")) {
    expect(index == calls.size(), "a call that begins out of order", piece.dump());
    calls.push_back({{"name", function["name"]}, {"arguments", ""}});
  }
  expect(index + 1 == calls.size(), "a piece of a call that is over", piece.dump());
  calls[index]["arguments"] = text_of(calls[index], "arguments") + text_of(function, "arguments");
}

void keep_whole_calls(Json& calls) {
  Json whole = Json::array();
  for (Json& call : calls) {
    if (is_object_text(text_of(call, "arguments"))) {
      whole.push_back(std::move(call));
    }
  }
  calls = std::move(whole);
}

/// In one list per kind, because a stream mixes them and a plain answer does not.
void sort_logprobs(Json& answer) {
  Json& list = answer["logprobs"];
  std::stable_partition(list.begin(), list.end(),
                        [](const Json& entry) { return entry.contains("content"); });
}

Json join_chat(const std::vector<Event>& events) {
  Json answer = empty_chat();
  bool done = false;
  for (const Event& event : events) {
    expect(!done, "an event behind the end", event.data);
    if (event.data == "[DONE]") {
      done = true;
      continue;
    }
    const Json chunk = expect_json(event.data);
    if (chunk.at("choices").empty()) {
      expect(answer["usage"].is_null(), "usage twice", event.data);
      answer["usage"] = chunk.at("usage");
      continue;
    }
    const Json& choice = chunk["choices"][0];
    expect(text_of(answer, "finish").empty(), "a chunk behind the finish", event.data);
    add_text(choice.at("delta"), answer);
    add_logprobs(choice, answer);
    for (const Json& piece : choice["delta"].value("tool_calls", Json::array())) {
      add_call_piece(piece, answer["calls"]);
    }
    answer["finish"] = text_of(choice, "finish_reason");
  }
  expect(done && !text_of(answer, "finish").empty(), "a stream without an end", answer.dump());
  keep_whole_calls(answer["calls"]);
  sort_logprobs(answer);
  return answer;
}

Json plain_chat(const Json& response) {
  Json answer = empty_chat();
  const Json& choice = response.at("choices").at(0);
  add_text(choice.at("message"), answer);
  add_logprobs(choice, answer);
  for (const Json& call : choice["message"].value("tool_calls", Json::array())) {
    const Json& function = call.at("function");
    expect(is_object_text(text_of(function, "arguments")), "arguments that are no object",
           call.dump());
    answer["calls"].push_back(
        {{"name", function.at("name")}, {"arguments", function["arguments"]}});
  }
  answer["finish"] = choice.at("finish_reason");
  answer["usage"] = response.at("usage");
  sort_logprobs(answer);
  return answer;
}

// ------------------------------------------------------------------------- messages

/// The texts that deltas add to, by type of block.
constexpr std::array<std::array<const char*, 3>, 3> kBlockTexts = {{
    {"text", "text_delta", "text"},
    {"thinking", "thinking_delta", "thinking"},
    {"tool_use", "input_json_delta", "partial_json"},
}};

void add_block_delta(const Json& delta, Json& block) {
  if (delta.at("type") == "signature_delta") {
    return;
  }
  for (const auto& [type, delta_type, member] : kBlockTexts) {
    if (block.at("type") == type) {
      expect(delta["type"] == delta_type, "a delta of another block", delta.dump());
      block["joined"] = text_of(block, "joined") + text_of(delta, member);
    }
  }
}

Json joined_block(const Json& block) {
  const std::string text = text_of(block, "joined");
  if (block["type"] != "tool_use") {
    return {{"type", block["type"]}, {"text", text}};
  }
  return {{"type", "tool_use"}, {"name", block.at("name")}, {"input", expect_json(text)}};
}

Json join_messages(const std::vector<Event>& events) {
  Json answer = {{"content", Json::array()}, {"end", nullptr}, {"usage", nullptr}};
  size_t num_blocks = 0;
  bool over = false;
  Json block;
  for (const Event& event : events) {
    const Json data = expect_json(event.data);
    expect(data.at("type") == event.name && !over, "an event behind the end", event.data);
    if (event.name == "content_block_start") {
      expect(block.is_null() && data.at("index") == num_blocks, "blocks out of order", event.data);
      block = data.at("content_block");
    } else if (event.name == "content_block_delta") {
      expect(!block.is_null() && data.at("index") == num_blocks, "a delta outside its block",
             event.data);
      add_block_delta(data.at("delta"), block);
    } else if (event.name == "content_block_stop") {
      expect(!block.is_null() && data.at("index") == num_blocks++, "the end of another block",
             event.data);
      if (block["type"] != "tool_use" || is_object_text(text_of(block, "joined"))) {
        answer["content"].push_back(joined_block(block));
      }
      block = Json();
    } else if (event.name == "message_delta") {
      expect(block.is_null() && answer["end"].is_null(), "a second end", event.data);
      answer["end"] = data.at("delta");
      answer["usage"] = data.at("usage");
    } else if (event.name == "message_stop") {
      over = true;
    }
  }
  expect(over && !answer["end"].is_null(), "a stream without an end", answer.dump());
  return answer;
}

Json plain_messages(const Json& response) {
  Json answer = {{"content", Json::array()}, {"end", Json::object()}, {"usage", nullptr}};
  for (const Json& block : response.at("content")) {
    if (block.at("type") == "tool_use") {
      answer["content"].push_back(
          {{"type", "tool_use"}, {"name", block.at("name")}, {"input", block.at("input")}});
    } else {
      const auto type = block["type"].get<std::string>();
      answer["content"].push_back({{"type", type}, {"text", text_of(block, type.c_str())}});
    }
  }
  answer["end"]["stop_reason"] = response.at("stop_reason");
  answer["end"]["stop_sequence"] = response.at("stop_sequence");
  answer["usage"] = response.at("usage");
  return answer;
}

// ------------------------------------------------------------------------- responses

/// Where an item keeps what its deltas add up to.
std::string item_text(const Json& item) {
  const auto content = item.find("content");
  if (content != item.end() && content->is_array()) {
    return content->empty() ? std::string() : text_of((*content)[0], "text");
  }
  return item.contains("input") ? text_of(item, "input") : text_of(item, "arguments");
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Json join_responses(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  std::vector<Json> items;
  size_t number = 0;
  Json response;
  for (const Event& event : events) {
    const Json data = expect_json(event.data);
    expect(data.at("type") == event.name && data.at("sequence_number") == number++,
           "events out of order", event.data);
    expect(response.is_null(), "an event behind the end", event.data);
    if (event.name == "response.output_item.added") {
      expect(data.at("output_index") == texts.size() && items.size() == texts.size(),
             "items out of order", event.data);
      texts.emplace_back();
    } else if (event.name == "response.output_item.done") {
      expect(data.at("output_index") == items.size(), "an item that ends twice", event.data);
      items.push_back(data.at("item"));
    } else if (ends_with(event.name, ".delta")) {
      expect(data.at("output_index").get<size_t>() + 1 == texts.size(), "a delta of another item",
             event.data);
      texts.back() += data.at("delta").get<std::string>();
    } else if (event.name == "response.completed" || event.name == "response.incomplete") {
      response = data.at("response");
    }
  }
  expect(response.is_object(), "a stream without an end");
  expect(response.at("output") == Json(items), "an output of other items", response.dump());
  for (size_t i = 0; i < items.size(); ++i) {
    const bool search = items[i].at("type") == "tool_search_call";
    expect(search || item_text(items[i]) == texts[i], "deltas that add up to another text",
           items[i].dump());
  }
  return without_ids(response);
}

Json plain_responses(const Json& response) {
  return without_ids(response);
}

// ------------------------------------------------------------------------- completions

Json empty_completion() {
  return {{"text", ""}, {"finish", ""}, {"logprobs", Json::object()}, {"usage", nullptr}};
}

void add_completion(const Json& choice, Json& answer) {
  answer["text"] = text_of(answer, "text") + text_of(choice, "text");
  answer["finish"] = text_of(choice, "finish_reason");
  const Json logprobs = choice.value("logprobs", Json());
  if (!logprobs.is_object()) {
    return;
  }
  for (const auto& [name, list] : logprobs.items()) {
    if (!answer["logprobs"].contains(name)) {
      answer["logprobs"][name] = Json::array();
    }
    append_all(list, answer["logprobs"][name]);
  }
}

Json join_completions(const std::vector<Event>& events) {
  Json answer = empty_completion();
  bool done = false;
  for (const Event& event : events) {
    expect(!done, "an event behind the end", event.data);
    if (event.data == "[DONE]") {
      done = true;
      continue;
    }
    const Json chunk = expect_json(event.data);
    if (chunk.at("choices").empty()) {
      expect(answer["usage"].is_null(), "usage twice", event.data);
      answer["usage"] = chunk.at("usage");
      continue;
    }
    expect(text_of(answer, "finish").empty(), "a chunk behind the finish", event.data);
    add_completion(chunk["choices"][0], answer);
  }
  expect(done && !text_of(answer, "finish").empty(), "a stream without an end", answer.dump());
  return answer;
}

Json plain_completions(const Json& response) {
  Json answer = empty_completion();
  add_completion(response.at("choices").at(0), answer);
  answer["usage"] = response.at("usage");
  return answer;
}

}  // namespace

const AnswerShape kChatAnswer{join_chat, plain_chat};
const AnswerShape kMessagesAnswer{join_messages, plain_messages};
const AnswerShape kResponsesAnswer{join_responses, plain_responses};
const AnswerShape kCompletionsAnswer{join_completions, plain_completions};

Json without_ids(Json answer) {
  if (answer.is_object()) {
    for (const char* name : {"id", "call_id", "completed_at"}) {
      answer.erase(name);
    }
  }
  if (answer.is_structured()) {
    for (Json& value : answer) {
      value = without_ids(std::move(value));
    }
  }
  return answer;
}

}  // namespace deepinfer::fuzz
