#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "model/model_config.h"

namespace deepinfer::model {
namespace {

bool contains(const std::vector<int32_t>& ids, int32_t layer) {
  return std::find(ids.begin(), ids.end(), layer) != ids.end();
}

/// The last of the ascending `sources` that is <= layer, or -1.
int32_t latest(const std::vector<int32_t>& sources, int32_t layer) {
  const auto it = std::upper_bound(sources.begin(), sources.end(), layer);
  return it == sources.begin() ? -1 : *(it - 1);
}

Status broken(const std::string& rule) {
  return failed_precondition("config.json: " + rule);
}

Status check_ascending(const char* key, const std::vector<int32_t>& ids) {
  const bool ascending =
      std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
  return ascending ? Status::ok()
                   : broken(fmt::format("{}: expected ascending layers without repeats, found [{}]",
                                        key, fmt::join(ids, ", ")));
}

Status check_distinct(const char* key, std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  const auto repeated = std::adjacent_find(ids.begin(), ids.end());
  return repeated == ids.end()
             ? Status::ok()
             : broken(fmt::format("{}: layer {} is listed twice", key, *repeated));
}

Status check_ratio_list(const ModelConfig& config) {
  const int32_t layers = config.num_hidden_layers;
  const int64_t with_stages = int64_t{layers} + config.num_nextn_predict_layers;
  const std::vector<int32_t>& ratios = config.compress_ratios;
  const auto num_ratios = static_cast<int64_t>(ratios.size());
  if (num_ratios != layers && num_ratios != with_stages) {
    return broken(
        fmt::format("compress_ratios: expected {} entries (layers) or {} (layers and "
                    "draft stages), found {}",
                    layers, with_stages, num_ratios));
  }
  if (std::any_of(ratios.begin() + layers, ratios.end(),
                  [](int32_t ratio) { return ratio != 0; })) {
    return broken("compress_ratios: expected 0 for every draft stage");
  }
  return Status::ok();
}

/// Every source compresses, and every layer that compresses has sources of its own ratio.
Status check_sources(const ModelConfig& config) {
  for (const int32_t source : config.kv_source_layer_ids) {
    if (!config.is_index_source(source)) {
      return broken(fmt::format(
          "kv_source_layer_ids: layer {} must be in index_source_layer_ids too", source));
    }
  }
  for (const int32_t source : config.index_source_layer_ids) {
    if (config.ratio(source) == 0) {
      return broken(fmt::format(
          "index_source_layer_ids: layer {} must have a compress ratio above 0", source));
    }
  }
  for (int32_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const int32_t ratio = config.ratio(layer);
    if (ratio == 0) {
      continue;
    }
    const int32_t kv = config.kv_source(layer);
    if (kv < 0) {
      return broken(fmt::format(
          "kv_source_layer_ids: layer {} has compress ratio {} but no source at or before it",
          layer, ratio));
    }
    const int32_t index = config.index_source(layer);
    if (config.ratio(kv) != ratio || config.ratio(index) != ratio) {
      return broken(
          fmt::format("compress_ratios: layer {} has ratio {}, but its sources {} (kv) "
                      "and {} (index) have {} and {}",
                      layer, ratio, kv, index, config.ratio(kv), config.ratio(index)));
    }
  }
  return Status::ok();
}

Status check_decoder_half(const ModelConfig& config) {
  const int32_t first = config.first_decoder_layer();
  if (first == config.num_hidden_layers) {
    return Status::ok();
  }
  if (!config.is_kv_source(first)) {
    return broken(fmt::format(
        "kv_source_layer_ids: layer {}, the first with compress ratio 1, must be in it", first));
  }
  for (const int32_t layer : config.engram_layer_ids) {
    if (layer >= first) {
      return broken(
          fmt::format("engram_layer_ids: layer {} must lie before the decoder half, "
                      "which begins at layer {}",
                      layer, first));
    }
  }
  return Status::ok();
}

Status check_candidates(const ModelConfig& config) {
  const int32_t source = config.candidate_source_layer_id;
  if (source < 0) {
    return Status::ok();
  }
  if (!config.is_index_source(source)) {
    return broken(fmt::format(
        "candidate_source_layer_id: layer {} must be in index_source_layer_ids", source));
  }
  const int64_t guaranteed =
      int64_t{config.candidate_topk_blocks - 1} * config.candidate_block_size + 1;
  if (guaranteed < config.index_topk) {
    return broken(fmt::format(
        "candidate_topk_blocks: {} blocks of {} entries can hold as few as "
        "{} visible entries, fewer than index_topk {}",
        config.candidate_topk_blocks, config.candidate_block_size, guaranteed, config.index_topk));
  }
  for (const int32_t layer : config.index_source_layer_ids) {
    if (layer > source && config.kv_source(layer) != config.kv_source(source)) {
      return broken(
          fmt::format("candidate_source_layer_id: layer {} would select from the "
                      "entries of layer {} by the candidates of layer {}",
                      layer, config.kv_source(layer), source));
    }
  }
  return Status::ok();
}

}  // namespace

bool ModelConfig::is_kv_source(int32_t layer) const {
  return contains(kv_source_layer_ids, layer);
}

bool ModelConfig::is_index_source(int32_t layer) const {
  return contains(index_source_layer_ids, layer);
}

bool ModelConfig::uses_candidates(int32_t layer) const {
  return candidate_source_layer_id >= 0 && layer > candidate_source_layer_id;
}

int32_t ModelConfig::engram_index(int32_t layer) const {
  const auto it = std::find(engram_layer_ids.begin(), engram_layer_ids.end(), layer);
  return it == engram_layer_ids.end() ? -1 : static_cast<int32_t>(it - engram_layer_ids.begin());
}

int32_t ModelConfig::kv_source(int32_t layer) const {
  return latest(kv_source_layer_ids, layer);
}

int32_t ModelConfig::index_source(int32_t layer) const {
  return latest(index_source_layer_ids, layer);
}

int32_t ModelConfig::first_decoder_layer() const {
  const auto it =
      std::find(compress_ratios.begin(), compress_ratios.begin() + num_hidden_layers, 1);
  return static_cast<int32_t>(it - compress_ratios.begin());
}

int32_t ModelConfig::max_ratio() const {
  return std::max(
      1, *std::max_element(compress_ratios.begin(), compress_ratios.begin() + num_hidden_layers));
}

int32_t ModelConfig::engram_columns() const {
  return (engram_max_ngram_size - 1) * engram_n_heads;
}

Status validate_topology(const ModelConfig& config) {
  DI_TRY(check_ratio_list(config));
  DI_TRY(check_ascending("kv_source_layer_ids", config.kv_source_layer_ids));
  DI_TRY(check_ascending("index_source_layer_ids", config.index_source_layer_ids));
  DI_TRY(check_distinct("engram_layer_ids", config.engram_layer_ids));
  DI_TRY(check_distinct("dspark_target_layer_ids", config.dspark_target_layer_ids));
  DI_TRY(check_sources(config));
  DI_TRY(check_decoder_half(config));
  return check_candidates(config);
}

}  // namespace deepinfer::model
