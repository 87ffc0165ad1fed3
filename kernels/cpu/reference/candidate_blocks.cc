#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/ranking.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// block score = max of its visible scores; the block of the newest visible entry is +inf.
void keep_blocks(const CandidateBlocksArgs& args, int64_t t, std::vector<uint64_t>& keys) {
  const int64_t visible = args.visible[t];
  if (visible <= 0 || args.num_keep <= 0) {
    return;
  }
  const float* scores = args.scores + t * args.scores_stride;
  uint8_t* keep = args.keep + t * args.keep_stride;
  const int64_t newest = (visible - 1) / args.block_size;
  keys.clear();
  for (int64_t b = 0; b < newest; ++b) {
    float best = -INFINITY;
    for (int64_t i = 0; i < args.block_size; ++i) {
      best = fmaxf(best, scores[b * args.block_size + i]);
    }
    keys.push_back(ranking_key(best, static_cast<uint32_t>(b)));
    keep[b] = 0;
  }
  keep_best(keys, static_cast<size_t>(args.num_keep - 1));
  for (const uint64_t key : keys) {
    keep[ranking_index(key)] = 1;
  }
  keep[newest] = 1;
}

}  // namespace

void candidate_blocks(const OpContext& context, const CandidateBlocksArgs& args) {
  parallel_for(context, args.num_tokens, 1, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> keys;
    for (int64_t t = begin; t < end; ++t) {
      keep_blocks(args, t, keys);
    }
  });
}

}  // namespace deepinfer::kernels::reference
