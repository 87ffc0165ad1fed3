#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/ranking.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

bool allowed(const SelectTopKArgs& args, int64_t t, int64_t entry) {
  return args.allowed_blocks == nullptr ||
         args.allowed_blocks[t * args.allowed_stride + entry / args.allowed_block_size] != 0;
}

// The top_k best allowed entries among the visible ones, written in ascending order.
void select_entries(const SelectTopKArgs& args, int64_t t, std::vector<uint64_t>& keys) {
  keys.clear();
  for (int64_t j = 0; j < args.visible[t]; ++j) {
    if (allowed(args, t, j)) {
      keys.push_back(
          ranking_key(args.scores[t * args.scores_stride + j], static_cast<uint32_t>(j)));
    }
  }
  keep_best(keys, static_cast<size_t>(args.top_k));
  int32_t* selected = args.selected + t * args.top_k;
  for (size_t i = 0; i < keys.size(); ++i) {
    selected[i] = ranking_index(keys[i]);
  }
  std::sort(selected, selected + keys.size());
  args.count[t] = static_cast<int32_t>(keys.size());
}

}  // namespace

void select_top_k(const OpContext& context, const SelectTopKArgs& args) {
  parallel_for(context, args.num_tokens, 1, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> keys;
    for (int64_t t = begin; t < end; ++t) {
      select_entries(args, t, keys);
    }
  });
}

}  // namespace deepinfer::kernels::reference
