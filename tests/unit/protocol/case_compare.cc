#include "case_compare.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

namespace deepinfer::protocol::test {
namespace {

bool near(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() &&
         std::fabs(a.get<double>() - b.get<double>()) <=
             1e-6 * std::max(1.0, std::fabs(a.get<double>()));
}

std::string differs(const std::string& what, const Json& expected, const Json& got) {
  return what + ": " + got.dump() + " expected " + expected.dump();
}

/// `call_NN_`, perhaps `ET_`, then 24 characters that are random.
std::string masked_ids(std::string text) {
  for (size_t at = text.find("call_"); at != std::string::npos; at = text.find("call_", at + 1)) {
    size_t end = at + 5;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) {
      ++end;
    }
    if (end < at + 7 || end >= text.size() || text[end] != '_') {
      continue;
    }
    end += text.compare(end + 1, 3, "ET_") == 0 ? 4 : 1;
    bool random = text.size() >= end + 24;
    for (size_t i = end; random && i < end + 24; ++i) {
      random = std::isalnum(static_cast<unsigned char>(text[i])) != 0;
    }
    if (random) {
      text.replace(end, 24, std::string(24, 'X'));
    }
  }
  return text;
}

Json once(const Json& entries) {
  Json out = Json::array();
  for (const Json& entry : entries) {
    if (out.empty() || out.back() != entry) {
      out.push_back(entry);
    }
  }
  return out;
}

/// Times zeroed, ids masked, repeated log probability entries collapsed, fractions rounded.
Json normalised(const Json& value, const std::string& name = {}) {
  if (value.is_object()) {
    Json out = Json::object();
    for (const auto& [key, item] : value.items()) {
      const bool is_time = key == "created" || key == "created_at" || key == "completed_at";
      out[key] =
          is_time && item.is_number() ? Json(0) : normalised(item, name == "logprobs" ? name : key);
    }
    return out;
  }
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) {
      out.push_back(normalised(item));
    }
    return name == "logprobs" ? once(out) : out;
  }
  if (value.is_string()) {
    return masked_ids(value.get<std::string>());
  }
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", value.get<double>());
    return std::stod(text);
  }
  return value;
}

Json joined_logprobs(const Json& a, const Json& b) {
  if (a.is_null() || b.is_null()) {
    return a.is_null() ? b : a;
  }
  Json out = a;
  for (const auto& [key, entries] : b.items()) {
    Json all = out.value(key, Json::array());
    all.insert(all.end(), entries.begin(), entries.end());
    out[key] = once(all);
  }
  return out;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Json stripped(const Json& value) {
  if (value.is_string()) {
    return trimmed(value.get<std::string>());
  }
  Json out = value;
  if (value.is_structured()) {
    for (Json& item : out) {
      item = stripped(item);
    }
  }
  return out;
}

/// Chunks as events, adjacent deltas of one kind joined.
class Events {
 public:
  explicit Events(const Json& chunks) {
    for (const Json& chunk : chunks) {
      for (const Json& choice : chunk["choices"]) {
        add(choice, chunk);
      }
    }
  }

  Json list(bool json_mode) const {
    Json out = Json::array();
    for (Json event : events_) {
      if (json_mode && event["kind"] == "content") {
        event["text"] = trimmed(event["text"]);
        if (event["text"] == "" && event["logprobs"].is_null()) {
          continue;
        }
      }
      out.push_back(std::move(event));
    }
    return out;
  }

 private:
  void add(const Json& choice, const Json& chunk) {
    const Json& delta = choice["delta"];
    const Json logprobs = choice.value("logprobs", Json());
    if (!choice["finish_reason"].is_null() || delta.contains("role")) {
      events_.push_back({{"kind", "whole"},
                         {"delta", delta},
                         {"logprobs", logprobs},
                         {"finish", choice["finish_reason"]},
                         {"usage", chunk.value("usage", Json())}});
    } else if (delta.contains("tool_calls")) {
      for (const Json& call : delta["tool_calls"]) {
        add_call(call, logprobs);
      }
    } else {
      const bool reasoning =
          delta.contains("reasoning_content") && !delta["reasoning_content"].is_null();
      const Json text = delta.value(reasoning ? "reasoning_content" : "content", Json());
      add_text(reasoning ? "reasoning" : "content", text.is_null() ? "" : text, logprobs,
               std::to_string(delta.size()));
    }
  }

  void add_call(const Json& call, const Json& logprobs) {
    const Json function = call.value("function", Json::object());
    const std::string arguments = function.value("arguments", "");
    Json head = call;
    head.erase("function");
    if (call.contains("id")) {
      head["name"] = function.value("name", "");
      events_.push_back({{"kind", "call"}, {"head", head}, {"text", arguments}, {"shape", ""}});
      events_.back()["logprobs"] = logprobs;
    } else if (!events_.empty() && events_.back()["kind"] == "call" &&
               events_.back()["head"]["index"] == call["index"]) {
      events_.back()["text"] = events_.back()["text"].get<std::string>() + arguments;
    } else {
      events_.push_back({{"kind", "call-part"}, {"head", head}, {"text", arguments}});
    }
  }

  void add_text(const std::string& kind, const std::string& text, const Json& logprobs,
                const std::string& shape) {
    if (!events_.empty() && events_.back()["kind"] == kind && events_.back()["shape"] == shape) {
      Json& last = events_.back();
      last["text"] = last["text"].get<std::string>() + text;
      last["logprobs"] = joined_logprobs(last["logprobs"], logprobs);
      return;
    }
    events_.push_back({{"kind", kind}, {"text", text}, {"shape", shape}});
    events_.back()["logprobs"] = logprobs;
  }

  std::vector<Json> events_;
};

Json envelopes(const Json& chunks) {
  Json out = Json::array();
  for (const Json& chunk : chunks) {
    Json envelope = chunk;
    envelope.erase("choices");
    bool final = false;
    for (const Json& choice : chunk["choices"]) {
      final = final || !choice["finish_reason"].is_null();
    }
    envelope["usage"] = final ? "final" : chunk.contains("usage") ? "null" : "absent";
    if (out.empty() || out.back() != envelope) {
      out.push_back(std::move(envelope));
    }
  }
  return out;
}

using Texts = std::map<std::string, std::string>;

void add_texts(const Json& chunks, Texts& texts) {
  const auto add = [&](const std::string& key, const Json& text) {
    texts[key] += text.is_string() ? text.get<std::string>() : std::string();
  };
  for (const Json& chunk : chunks) {
    for (const Json& choice : chunk["choices"]) {
      const Json& delta = choice["delta"];
      add("content", delta.value("content", Json()));
      add("reasoning", delta.value("reasoning_content", Json()));
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        add("arguments " + call["index"].dump(), call["function"].value("arguments", Json()));
      }
    }
  }
}

/// How the streams of a protocol are looked at.
struct StreamView {
  Json (*envelopes)(const Json& chunks);
  Json (*events)(const Json& chunks, bool json_mode);
  void (*add_texts)(const Json& chunks, Texts& texts);
};

constexpr StreamView kChatView = {
    envelopes, [](const Json& chunks, bool json_mode) { return Events(chunks).list(json_mode); },
    add_texts};

/// The member of a Messages delta that holds text.
const char* text_member(const Json& event) {
  if (event["type"] == "content_block_delta") {
    for (const char* name : {"text", "thinking", "partial_json", "signature"}) {
      if (event["delta"].contains(name)) {
        return name;
      }
    }
  }
  return nullptr;
}

Json messages_events(const Json& events, bool) {
  Json out = Json::array();
  for (const Json& event : events) {
    const char* name = text_member(event);
    if (name != nullptr && !out.empty() && out.back()["type"] == event["type"] &&
        out.back()["index"] == event["index"] && out.back()["delta"].contains(name)) {
      Json& text = out.back()["delta"][name];
      text = text.get<std::string>() + event["delta"][name].get<std::string>();
    } else {
      out.push_back(event);
    }
  }
  return out;
}

void add_messages_texts(const Json& events, Texts& texts) {
  for (const Json& event : events) {
    if (const char* name = text_member(event)) {
      texts[event["index"].dump() + "/" + name] += event["delta"][name].get<std::string>();
    }
  }
}

constexpr StreamView kMessagesView = {[](const Json&) { return Json(); }, messages_events,
                                      add_messages_texts};

bool is_responses_delta(const Json& event) {
  const std::string type = event["type"];
  const std::string end = ".delta";
  return type.size() > end.size() && type.compare(type.size() - end.size(), end.size(), end) == 0 &&
         event["delta"].is_string();
}

/// Numbers are compared by `envelopes`; deltas of one item are joined.
Json responses_events(const Json& events, bool json_mode) {
  Json out = Json::array();
  for (Json event : events) {
    event.erase("sequence_number");
    if (is_responses_delta(event) && !out.empty() && out.back()["type"] == event["type"] &&
        out.back()["item_id"] == event["item_id"]) {
      Json& last = out.back();
      last["delta"] = last["delta"].get<std::string>() + event["delta"].get<std::string>();
      Json entries = last.value("logprobs", Json::array());
      for (const Json& entry : event.value("logprobs", Json::array())) {
        entries.push_back(entry);
      }
      if (event.contains("logprobs")) {
        last["logprobs"] = once(entries);
      }
    } else {
      out.push_back(std::move(event));
    }
  }
  return json_mode ? stripped(out) : out;
}

/// The first event whose number is not its place, or null.
Json responses_numbers(const Json& events) {
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].value("sequence_number", Json()) != i) {
      return {{"event", i}, {"number", events[i].value("sequence_number", Json())}};
    }
  }
  return nullptr;
}

void add_responses_texts(const Json& events, Texts& texts) {
  for (const Json& event : events) {
    if (is_responses_delta(event)) {
      texts[event["output_index"].dump()] += event["delta"].get<std::string>();
    }
  }
}

constexpr StreamView kResponsesView = {responses_numbers, responses_events, add_responses_texts};

/// Members in the order of their names: this protocol's events are compared without theirs.
Json sorted(const Json& value) {
  return Json::parse(nlohmann::json::parse(value.dump()).dump());
}

/// Nothing sent early that would be taken back, nothing held longer than the reference does.
std::string timing_difference(const StreamView& view, const Json& expected, const Json& got,
                              const Json& all) {
  Texts final;
  Texts sent;
  Texts due;
  view.add_texts(all, final);
  for (size_t i = 0; i < expected.size(); ++i) {
    view.add_texts(got[i], sent);
    view.add_texts(expected[i], due);
    for (const auto& [key, text] : final) {
      const std::string where = "push " + std::to_string(i) + ", " + key;
      if (text.compare(0, sent[key].size(), sent[key]) != 0) {
        return where + " is not a beginning of the whole: " + sent[key];
      }
      if (sent[key].size() < due[key].size()) {
        return where + " is later than the reference: '" + sent[key] + "' < '" + due[key] + "'";
      }
    }
  }
  return {};
}

Json all_chunks(const Json& output) {
  Json all = Json::array();
  for (const Json& push : output["pushes"]) {
    all.insert(all.end(), push.begin(), push.end());
  }
  all.insert(all.end(), output["end"].begin(), output["end"].end());
  return all;
}

std::string stream_difference(const StreamView& view, const Json& expected, const Json& got,
                              bool json_mode) {
  for (const char* name : {"consumed", "error"}) {
    Json e = expected.value(name, Json());
    if (e.is_object()) {
      e.erase("oracle_message");
    }
    if (e != got.value(name, Json())) {
      return differs(name, e, got.value(name, Json()));
    }
  }
  if (expected["pushes"].size() != got["pushes"].size()) {
    return "number of pushes";
  }
  const Json e = all_chunks(expected);
  const Json g = all_chunks(got);
  if (view.envelopes(e) != view.envelopes(g)) {
    return differs("envelopes", view.envelopes(e), view.envelopes(g));
  }
  if (const Json a = view.events(e, json_mode), b = view.events(g, json_mode); a != b) {
    return differs("events", a, b);
  }
  if (!json_mode) {
    const std::string late = timing_difference(view, expected["pushes"], got["pushes"], e);
    if (!late.empty()) {
      return late;
    }
  }
  if (expected.contains("error")) {
    return {};
  }
  const Json er = json_mode ? stripped(expected["response"]) : expected["response"];
  const Json gr = json_mode ? stripped(got["response"]) : got["response"];
  if (er != gr) {
    return differs("response", er, gr);
  }
  return expected["sse_done"] == got["sse_done"] ? "" : "sse_done";
}

std::string error_difference(const Json& expected, const Json& got) {
  if (got.value("ok", true) || got.value("stage", "") != expected["stage"]) {
    return differs("refusal", expected, got);
  }
  if (expected["stage"] == "parse") {
    return {};
  }
  Json e = expected["body"];
  Json g = got["body"];
  if (expected.contains("message_prefix")) {
    const auto prefix = expected["message_prefix"].get<std::string>();
    if (g["error"].value("message", "").compare(0, prefix.size(), prefix) != 0) {
      return differs("message", e, g);
    }
    e["error"]["message"] = g["error"]["message"] = prefix;
  }
  return e == g && expected["status"] == got["status"] ? "" : differs("body", e, g);
}

bool same_schema(const Json& expected, const Json& got) {
  if (expected["schema"] == got["schema"]) {
    return true;
  }
  return expected["kind"] != "regex" &&
         Json::parse(expected["schema"].get<std::string>(), nullptr, false) ==
             Json::parse(got["schema"].get<std::string>(), nullptr, false);
}

std::string convert_difference(const Json& expected, const Json& got) {
  if (!expected["ok"].get<bool>()) {
    return error_difference(expected, got);
  }
  if (!got.value("ok", false)) {
    return differs("result", expected, got);
  }
  for (const char* name :
       {"model_version", "stream", "parsing", "prompt", "special_ranges", "images"}) {
    if (expected[name] != got[name]) {
      return differs(name, expected[name], got[name]);
    }
  }
  const Json& e = expected["options"];
  const Json& g = got["options"];
  for (const char* name : {"max_tokens", "logprobs", "top_logprobs", "seed"}) {
    if (e[name] != g[name]) {
      return differs(name, e[name], g[name]);
    }
  }
  if (!near(e["temperature"], g["temperature"]) || !near(e["top_p"], g["top_p"])) {
    return differs("sampling", e, g);
  }
  const Json& ec = e["output_constraint"];
  const Json& gc = g["output_constraint"];
  const bool same =
      ec.is_null() || gc.is_null() ? ec == gc : ec["kind"] == gc["kind"] && same_schema(ec, gc);
  return same ? "" : differs("output_constraint", ec, gc);
}

bool is_json_mode(const Json& input) {
  if (input.contains("parsing") && input["parsing"].is_object()) {
    return input["parsing"].value("parse_json_output", false);
  }
  const Json& body = input["body"];
  const Json format = body.contains("text") ? body["text"].value("format", Json())
                                            : body.value("response_format", Json());
  return format.is_object() && format.value("type", "") == "json_object";
}

}  // namespace

std::string difference(const std::string& kind, const Json& input, const Json& expected,
                       const Json& got) {
  if (kind == "chat-stream") {
    return stream_difference(kChatView, normalised(expected), normalised(got), is_json_mode(input));
  }
  if (kind == "messages-stream") {
    return stream_difference(kMessagesView, normalised(expected), normalised(got), false);
  }
  if (kind == "responses-stream") {
    return stream_difference(kResponsesView, sorted(normalised(expected)), sorted(normalised(got)),
                             is_json_mode(input));
  }
  if (kind == "max-tokens") {
    return expected["ok"].get<bool>() ? (expected == got ? "" : differs("result", expected, got))
                                      : error_difference(expected, got);
  }
  return convert_difference(expected, got);
}

}  // namespace deepinfer::protocol::test
