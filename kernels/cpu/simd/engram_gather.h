#pragma once

/// out[t, c] = table[rows[t, c]], scales applied

#include "kernels/cpu/simd/common.h"
#include "kernels/cpu/simd/weight_formats.h"

namespace deepinfer::kernels {
namespace {

inline void gather_row(const WeightView& table, int64_t row, float* out) {
  const int64_t stored = table.row_begin + row;
  const uint8_t* codes = static_cast<const uint8_t*>(table.data) + stored * table.cols;
  const uint8_t* scales = scale_row(table, stored);
  for (int64_t i = 0; i < table.cols; i += kScaleColumns) {
    const int64_t cols = smaller(kScaleColumns, table.cols - i);
    const float scale = scales == nullptr ? 1.0f : decode_e8m0(scales[i / kScaleColumns]);
    Vec w[kSegmentVecs];
    if (cols == kScaleColumns) {
      expand_e4m3(codes + i, w);
    } else {
      expand_e4m3(TailSegment<E4m3Codes>(codes + i, cols).bytes, w);
    }
    for (int64_t v = 0; v < kSegmentVecs && v * kLanes < cols; ++v) {
      store_n(out + i + v * kLanes, mul(w[v], set1(E4m3Codes::kFactor * scale)),
              smaller(kLanes, cols - v * kLanes));
    }
  }
}

inline void run_engram_gather(const OpContext& context, const EngramGatherArgs& args) {
  const int64_t dim = args.table.cols;
  parallel_for(context, args.num_tokens * args.num_columns, grain_for(dim),
               [&](int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item) {
                   gather_row(args.table, args.rows[item], args.out + item * dim);
                 }
               });
}

}  // namespace
}  // namespace deepinfer::kernels
