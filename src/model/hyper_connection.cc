#include "model/hyper_connection.h"

#include <utility>

namespace deepinfer::model {

HyperConnectionWeights load_hyper_connection(WeightLoader& loader, const std::string& name) {
  return {.fn = loader.f32(name + "_fn"),
          .base = loader.f32(name + "_base"),
          .scale = loader.f32(name + "_scale")};
}

Status HyperConnection::begin(const int32_t* ids, int64_t num_tokens, const uint16_t* table) {
  const int64_t streams = graph_.config.hc_mult;
  const int64_t width = graph_.config.hidden_size;
  const int64_t rows = round_up_rows(num_tokens);
  num_tokens_ = num_tokens;
  DI_TRY(streams_.ensure(graph_.device, rows * streams * width));
  DI_TRY(pre_.ensure(graph_.device, rows * streams));
  DI_TRY(next_pre_.ensure(graph_.device, rows * streams));
  DI_TRY(post_.ensure(graph_.device, rows * streams));
  DI_TRY(comb_.ensure(graph_.device, rows * streams * streams));
  first_pre_.host.assign(static_cast<size_t>(num_tokens * streams), 0.0F);
  for (int64_t t = 0; t < num_tokens; ++t) {
    first_pre_.host[static_cast<size_t>(t * streams)] = 1.0F;
  }
  DI_TRY(graph_.device.copy_async(pre_.data(), first_pre_.host.data(),
                                  first_pre_.host.size() * sizeof(float)));
  graph_.ops().embed(graph_.context(), {.ids = ids,
                                        .table = table,
                                        .num_tokens = num_tokens,
                                        .hidden_size = width,
                                        .num_streams = streams,
                                        .streams = streams_.data()});
  return Status::ok();
}

void HyperConnection::enter(const HyperConnectionWeights& weights, float* x) {
  const int64_t streams = graph_.config.hc_mult;
  const int64_t width = graph_.config.hidden_size;
  graph_.ops().hc_mix(graph_.context(), {.streams = streams_.data(),
                                         .fn = weights.fn,
                                         .base = weights.base,
                                         .scale = weights.scale,
                                         .num_tokens = num_tokens_,
                                         .num_streams = streams,
                                         .hidden_size = width,
                                         .sinkhorn_iters = graph_.config.hc_sinkhorn_iters,
                                         .rms_eps = graph_.config.rms_norm_eps,
                                         .hc_eps = graph_.config.hc_eps,
                                         .pre = next_pre_.data(),
                                         .post = post_.data(),
                                         .comb = comb_.data()});
  graph_.ops().hc_collapse(graph_.context(), {.streams = streams_.data(),
                                              .pre = pre_.data(),
                                              .num_tokens = num_tokens_,
                                              .num_streams = streams,
                                              .hidden_size = width,
                                              .out = x});
  std::swap(pre_, next_pre_);
}

void HyperConnection::leave(const float* y) {
  graph_.ops().hc_expand(graph_.context(), {.y = y,
                                            .post = post_.data(),
                                            .comb = comb_.data(),
                                            .num_tokens = num_tokens_,
                                            .num_streams = graph_.config.hc_mult,
                                            .hidden_size = graph_.config.hidden_size,
                                            .streams = streams_.data()});
}

Status HyperConnection::collapse_rows(const int64_t* rows, int64_t num_rows, float* out) {
  const int64_t streams = graph_.config.hc_mult;
  const int64_t width = graph_.config.hidden_size;
  DI_TRY(gathered_streams_.ensure(graph_.device, num_rows * streams * width));
  DI_TRY(gathered_pre_.ensure(graph_.device, num_rows * streams));
  const auto gather = [&](const float* src, int64_t row_width, float* dst) {
    graph_.ops().gather_rows(graph_.context(), {.src = src,
                                                .src_stride = row_width,
                                                .indices = rows,
                                                .num_rows = num_rows,
                                                .width = row_width,
                                                .dst = dst,
                                                .dst_stride = row_width});
  };
  gather(streams_.data(), streams * width, gathered_streams_.data());
  gather(pre_.data(), streams, gathered_pre_.data());
  graph_.ops().hc_collapse(graph_.context(), {.streams = gathered_streams_.data(),
                                              .pre = gathered_pre_.data(),
                                              .num_tokens = num_rows,
                                              .num_streams = streams,
                                              .hidden_size = width,
                                              .out = out});
  return Status::ok();
}

}  // namespace deepinfer::model
