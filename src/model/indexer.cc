#include "model/indexer.h"

#include <algorithm>

namespace deepinfer::model {
namespace {

/// Scores held at once (64 MiB): long contexts are scored in pieces of few queries.
constexpr int64_t kMaxScores = 16 << 20;

}  // namespace

IndexerWeights load_indexer(WeightLoader& loader, const std::string& attention) {
  return {.wq_b = loader.matrix(attention + ".indexer.wq_b.weight"),
          .weights_proj = loader.matrix(attention + ".indexer.weights_proj.weight")};
}

Status Indexer::ensure(int64_t num_tokens, int64_t max_visible) {
  const ModelConfig& config = graph_.config;
  const int64_t rows = round_up_rows(num_tokens);
  DI_TRY(queries_.ensure(graph_.device, rows * config.index_n_heads * config.index_head_dim));
  DI_TRY(head_weights_.ensure(graph_.device, rows * config.index_n_heads));
  DI_TRY(selected_.ensure(graph_.device, rows * config.index_topk));
  DI_TRY(count_.ensure(graph_.device, rows));
  scores_stride_ = round_up_rows(std::max<int64_t>(max_visible, 1));
  if (config.candidate_source_layer_id >= 0) {
    keep_stride_ = (scores_stride_ + config.candidate_block_size - 1) / config.candidate_block_size;
    DI_TRY(keep_.ensure(graph_.device, rows * keep_stride_));
  }
  return Status::ok();
}

void Indexer::score(int32_t layer, const StepTile& tile, const RatioPlan& entries, KvCache& cache) {
  const ModelConfig& config = graph_.config;
  const int64_t heads = config.index_n_heads;
  // The positive factor I^-0.5 N^-0.5 of §4.6 is left out: it changes no selection.
  graph_.ops().index_scores(graph_.context(),
                            {.step = tile.view,
                             .q = queries_.data() + tile.begin * heads * config.index_head_dim,
                             .weights = head_weights_.data() + tile.begin * heads,
                             .num_heads = heads,
                             .head_dim = config.index_head_dim,
                             .keys = cache.index_keys(config.kv_source(layer)),
                             .entries_per_block = entries.entries_per_block,
                             .visible = entries.visible.data() + tile.begin,
                             .scores = scores_.data(),
                             .scores_stride = scores_stride_});
}

void Indexer::choose(int32_t layer, const StepTile& tile, const RatioPlan& entries) {
  const ModelConfig& config = graph_.config;
  const int32_t* visible = entries.visible.data() + tile.begin;
  uint8_t* keep = keep_.data() == nullptr ? nullptr : keep_.data() + tile.begin * keep_stride_;
  if (layer == config.candidate_source_layer_id) {
    graph_.ops().candidate_blocks(graph_.context(), {.scores = scores_.data(),
                                                     .scores_stride = scores_stride_,
                                                     .visible = visible,
                                                     .num_tokens = tile.view.num_tokens,
                                                     .block_size = config.candidate_block_size,
                                                     .num_keep = config.candidate_topk_blocks,
                                                     .keep = keep,
                                                     .keep_stride = keep_stride_});
  }
  const bool restricted = config.uses_candidates(layer);
  graph_.ops().select_top_k(graph_.context(),
                            {.scores = scores_.data(),
                             .scores_stride = scores_stride_,
                             .visible = visible,
                             .num_tokens = tile.view.num_tokens,
                             .top_k = config.index_topk,
                             .allowed_blocks = restricted ? keep : nullptr,
                             .allowed_stride = keep_stride_,
                             .allowed_block_size = restricted ? config.candidate_block_size : 1,
                             .selected = selected_.data() + tile.begin * config.index_topk,
                             .count = count_.data() + tile.begin});
}

Status Indexer::select(int32_t layer, const StepPlan& plan, KvCache& cache) {
  const RatioPlan& entries = plan.ratio(graph_.config.ratio(layer));
  const int64_t rows =
      std::min(plan.num_tokens(), std::max<int64_t>(1, kMaxScores / scores_stride_));
  // At least round_up_rows(rows) * scores_stride_, and never less for more tokens or entries.
  DI_TRY(scores_.ensure(graph_.device, std::min(round_up_rows(plan.num_tokens()) * scores_stride_,
                                                kMaxScores + round_up_rows(1) * scores_stride_)));
  DI_ASSIGN(const auto tiles, plan.cut(rows, graph_.device, tiles_));
  for (const StepTile& tile : tiles) {
    score(layer, tile, entries, cache);
    choose(layer, tile, entries);
  }
  return Status::ok();
}

Status Indexer::run(const IndexerWeights& weights, int32_t layer, const float* x, const float* low,
                    const StepPlan& plan, KvCache& cache) {
  const ModelConfig& config = graph_.config;
  const int64_t tokens = plan.num_tokens();
  DI_TRY(ensure(tokens, plan.ratio(config.ratio(layer)).max_visible));
  graph_.linear({dense_problem(low, tokens, weights.wq_b, queries_.data()),
                 dense_problem(x, tokens, weights.weights_proj, head_weights_.data())});
  graph_.rope(queries_.data(), tokens, config.index_n_heads, config.index_head_dim,
              plan.positions(), inv_freq_, false);
  DI_TRY(select(layer, plan, cache));
  return graph_.observer == nullptr ? Status::ok() : report(layer, tokens);
}

Status Indexer::report(int32_t layer, int64_t num_tokens) const {
  std::vector<int32_t> selected;
  std::vector<int32_t> count;
  DI_TRY(graph_.download(selected, selected_.data(), num_tokens * graph_.config.index_topk));
  DI_TRY(graph_.download(count, count_.data(), num_tokens));
  graph_.observer->on_selection(layer, selected, graph_.config.index_topk, count);
  return Status::ok();
}

}  // namespace deepinfer::model
