#include "endpoints.h"

#include <utility>

namespace deepinfer::server::testing {
namespace {

Json one_user_message(const std::string& text) {
  return Json::array({{{"role", "user"}, {"content", text}}});
}

/// Server-sent events in the exact form that servers of this kind write.
class EventReader {
 public:
  explicit EventReader(StreamedAnswer& answer) : answer_(answer) {}

  void push(char byte) {
    if (byte != '\n') {
      line_ += byte;
    } else if (line_.empty()) {
      end_event();
    } else {
      lines_.push_back(std::exchange(line_, {}));
    }
  }
  void finish() { answer_.well_formed = answer_.well_formed && line_.empty() && lines_.empty(); }

 private:
  void end_event() {
    const std::vector<std::string> lines = std::exchange(lines_, {});
    if (ended_) {
      answer_.well_formed = false;
    } else if (lines.size() == 1 && lines[0] == ": keep-alive") {
      ++answer_.num_keep_alives;
    } else if (lines.size() == 1 && lines[0] == "data: [DONE]") {
      ++answer_.num_done;
      ended_ = true;
    } else if (lines.size() == 1) {
      take_data(lines[0], {});
    } else if (lines.size() == 2 && lines[0].compare(0, 7, "event: ") == 0) {
      take_data(lines[1], lines[0].substr(7));
    } else {
      answer_.well_formed = false;
    }
  }

  void take_data(const std::string& line, const std::string& name) {
    if (line.compare(0, 6, "data: ") != 0 || !Json::accept(line.substr(6))) {
      answer_.well_formed = false;
      return;
    }
    Json data = Json::parse(line.substr(6));
    answer_.well_formed = answer_.well_formed && data.value("type", "") == name;
    if (name == "ping") {
      ++answer_.num_keep_alives;
      return;
    }
    if (data.contains("error") && data["error"].is_object()) {
      ++answer_.num_errors;
      answer_.error = data["error"];
      ended_ = true;
    }
    answer_.events.push_back(std::move(data));
  }

  StreamedAnswer& answer_;
  std::string line_;
  std::vector<std::string> lines_;
  bool ended_ = false;
};

void end(Answer& answer, const Json& reason) {
  if (reason.is_string()) {
    answer.ending = reason;
    ++answer.num_endings;
  }
}

std::string text_of(const Json& object, const char* name) {
  return object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : "";
}

/// A message, or the delta of one.
void take_message(const Json& message, Answer& answer) {
  answer.text += text_of(message, "content");
  answer.reasoning += text_of(message, "reasoning_content");
  for (const Json& call : message.value("tool_calls", Json::array())) {
    if (call.contains("id")) {
      answer.calls.push_back({call["id"], call["function"]["name"], ""});
    }
    answer.calls.at(call.value("index", answer.calls.size() - 1)).arguments +=
        text_of(call["function"], "arguments");
  }
}

/// A chunk or the whole of Chat Completions and raw completions.
void take_choices(const Json& body, Answer& answer) {
  for (const Json& choice : body["choices"]) {
    if (choice["index"] != 0) {
      continue;
    }
    answer.text += text_of(choice, "text");
    take_message(choice.value("delta", choice.value("message", Json::object())), answer);
    end(answer, choice["finish_reason"]);
  }
  if (body.contains("usage")) {
    answer.usage = body["usage"];
  }
}

void take_block(const Json& block, Answer& answer) {
  answer.text += text_of(block, "text");
  answer.reasoning += text_of(block, "thinking");
  if (block["type"] == "tool_use") {
    const Json input = block.value("input", Json::object());
    answer.calls.push_back({block["id"], block["name"], input.empty() ? "" : input.dump()});
  }
}

void take_response(const Json& response, Answer& answer) {
  for (const Json& item : response["output"]) {
    if (item["type"] == "function_call") {
      answer.calls.push_back({item["call_id"], item["name"], item["arguments"]});
    }
    for (const Json& part : item.value("content", Json::array())) {
      (item["type"] == "message" ? answer.text : answer.reasoning) += text_of(part, "text");
    }
  }
  const Json details = response.value("incomplete_details", Json());
  end(answer, details.is_object() ? details["reason"] : response["status"]);
  answer.usage = response["usage"];
}

void take_message_event(const Json& event, Answer& answer) {
  const std::string type = event["type"];
  if (type == "content_block_start") {
    take_block(event["content_block"], answer);
  } else if (type == "content_block_delta") {
    answer.text += text_of(event["delta"], "text");
    answer.reasoning += text_of(event["delta"], "thinking");
    if (event["delta"]["type"] == "input_json_delta") {
      answer.calls.back().arguments += text_of(event["delta"], "partial_json");
    }
  } else if (type == "message_delta") {
    end(answer, event["delta"]["stop_reason"]);
    answer.usage = event["usage"];
  }
}

void take_response_event(const Json& event, Answer& answer) {
  const std::string type = event["type"];
  if (type == "response.output_text.delta") {
    answer.text += text_of(event, "delta");
  } else if (type == "response.reasoning_text.delta") {
    answer.reasoning += text_of(event, "delta");
  } else if (type == "response.output_item.added" && event["item"]["type"] == "function_call") {
    answer.calls.push_back({event["item"]["call_id"], event["item"]["name"], ""});
  } else if (type == "response.function_call_arguments.delta") {
    answer.calls.back().arguments += text_of(event, "delta");
  } else if (type == "response.completed" || type == "response.incomplete") {
    Answer whole;
    take_response(event["response"], whole);
    end(answer, whole.ending);
    answer.usage = whole.usage;
  }
}

}  // namespace

Json Endpoint::body(const std::string& text, const Json& more) const {
  Json body = {{"model", "scripted"}};
  body[input] = input == "messages" ? one_user_message(text) : Json(text);
  body.update(no_thinking);
  body.update(more);
  return body;
}

std::string Endpoint::post(const std::string& text, const Json& more) const {
  return post_text(path, body(text, more).dump());
}

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> kEndpoints = {
      {.path = "/v1/chat/completions",
       .input = "messages",
       .limit = "max_tokens",
       .says_done = true,
       .no_thinking = {{"thinking", {{"type", "disabled"}}}}},
      {.path = "/v1/messages",
       .input = "messages",
       .limit = "max_tokens",
       .says_done = false,
       .no_thinking = {{"thinking", {{"type", "disabled"}}}}},
      {.path = "/v1/responses",
       .input = "input",
       .limit = "max_output_tokens",
       .says_done = false,
       .no_thinking = {{"reasoning", {{"effort", "none"}}}}},
      {.path = "/v1/completions",
       .input = "prompt",
       .limit = "max_tokens",
       .says_done = true,
       .no_thinking = Json::object()},
  };
  return kEndpoints;
}

std::vector<Endpoint> chat_endpoints() {
  return {endpoints().begin(), endpoints().begin() + 3};
}

bool Answer::cut() const {
  return ending == "length" || ending == "max_tokens" || ending == "max_output_tokens";
}

Answer read_plain(const std::string& body) {
  Answer answer;
  const Json whole = Json::parse(body);
  if (whole.contains("choices")) {
    take_choices(whole, answer);
  } else if (whole.contains("output")) {
    take_response(whole, answer);
  } else if (whole.contains("content")) {
    for (const Json& block : whole["content"]) {
      take_block(block, answer);
    }
    end(answer, whole["stop_reason"]);
    answer.usage = whole["usage"];
  } else {
    ADD_FAILURE() << "no answer: " << body;
  }
  return answer;
}

StreamedAnswer read_stream(const std::string& body) {
  StreamedAnswer answer;
  EventReader reader(answer);
  for (const char byte : body) {
    reader.push(byte);
  }
  reader.finish();
  for (const Json& event : answer.events) {
    if (event.contains("choices")) {
      take_choices(event, answer);
    } else if (event.value("type", "").compare(0, 9, "response.") == 0) {
      take_response_event(event, answer);
    } else if (event.contains("type")) {
      take_message_event(event, answer);
    }
  }
  return answer;
}

}  // namespace deepinfer::server::testing
