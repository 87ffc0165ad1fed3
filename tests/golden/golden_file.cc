#include "tests/golden/golden_file.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace deepinfer::golden {
namespace {

using Json = nlohmann::json;

std::vector<std::pair<int32_t, float>> read_pairs(const Json& json) {
  std::vector<std::pair<int32_t, float>> pairs;
  for (const Json& pair : json) {
    pairs.emplace_back(pair.at(0).get<int32_t>(), pair.at(1).get<float>());
  }
  return pairs;
}

/// Numbers of nested lists in order.
void flatten(const Json& json, std::vector<int64_t>& out) {
  for (const Json& element : json) {
    if (element.is_array()) {
      flatten(element, out);
    } else {
      out.push_back(element.get<int64_t>());
    }
  }
}

Table read_table(const Json& json) {
  Table table;
  for (const Json& layer : json) {
    flatten(layer, table.emplace_back());
  }
  return table;
}

template <typename T>
std::map<int32_t, std::vector<T>> read_by_layer(const Json& json) {
  std::map<int32_t, std::vector<T>> lists;
  for (const auto& [layer, values] : json.items()) {
    lists[std::stoi(layer)] = values.template get<std::vector<T>>();
  }
  return lists;
}

Prompt read_prompt(const Json& json) {
  Prompt prompt;
  prompt.name = json.at("name");
  prompt.ids = json.at("ids").get<std::vector<int32_t>>();
  prompt.greedy = json.at("greedy").get<std::vector<int32_t>>();
  for (const Json& logits : json.at("logits")) {
    prompt.logits.push_back({.position = logits.at("position"),
                             .top = read_pairs(logits.at("top")),
                             .probes = read_pairs(logits.at("probes"))});
  }
  for (const auto& [layer, rows] : json.at("experts").items()) {
    for (const Json& row : rows) {
      prompt.experts[std::stoi(layer)].push_back(
          {.position = row.at("position"),
           .ids = row.at("ids").get<std::vector<int32_t>>(),
           .weights = row.at("weights").get<std::vector<float>>()});
    }
  }
  prompt.index_selected = read_by_layer<int32_t>(json.at("index_selected"));
  prompt.engram_rows = read_by_layer<int64_t>(json.at("engram_rows"));
  for (const auto& [layer, values] : json.at("streams_after_layer").items()) {
    prompt.streams[std::stoi(layer)] = {.rms = values.at("rms"),
                                        .first = values.at("first").get<std::vector<float>>(),
                                        .last = values.at("last").get<std::vector<float>>()};
  }
  return prompt;
}

}  // namespace

File load(const std::string& dir) {
  std::ifstream stream(dir + "/golden.json");
  const Json json = Json::parse(stream);
  File file;
  const Json& engram = json.at("engram");
  file.compressed_vocab = engram.at("compressed_vocab");
  file.token_map = engram.at("token_map").get<std::vector<int32_t>>();
  file.primes = read_table(engram.at("primes"));
  file.offsets = read_table(engram.at("offsets"));
  file.multipliers = read_table(engram.at("multipliers"));
  file.rope_sliding = json.at("rope").at("sliding").get<std::vector<float>>();
  file.rope_compressed = json.at("rope").at("compressed").get<std::vector<float>>();
  for (const Json& prompt : json.at("prompts")) {
    file.prompts.push_back(read_prompt(prompt));
  }
  return file;
}

}  // namespace deepinfer::golden
