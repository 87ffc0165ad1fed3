#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// sum_n weights[n] * relu(q[n] · key)
float score(const IndexScoresArgs& args, int64_t t, const float* key) {
  float sum = 0;
  for (int64_t n = 0; n < args.num_heads; ++n) {
    const float* q = args.q + (t * args.num_heads + n) * args.head_dim;
    float dot = 0;
    for (int64_t i = 0; i < args.head_dim; ++i) {
      dot += q[i] * key[i];
    }
    sum += args.weights[t * args.num_heads + n] * (dot > 0 ? dot : 0.0f);
  }
  return sum;
}

}  // namespace

void index_scores(const OpContext& context, const IndexScoresArgs& args) {
  parallel_for(context, args.step.num_tokens, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const SequenceView& sequence = args.step.sequences[args.step.token_sequence[t]];
      const int64_t block = args.entries_per_block;
      for (int64_t j = 0; j < args.visible[t]; ++j) {
        const int64_t row = sequence.block_table[j / block] * block + j % block;
        args.scores[t * args.scores_stride + j] = score(args, t, args.keys + row * args.head_dim);
      }
    }
  });
}

}  // namespace deepinfer::kernels::reference
