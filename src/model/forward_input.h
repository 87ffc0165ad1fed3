#pragma once

/// One step as the model sees it: the new tokens of every sequence, packed.

#include <cstdint>
#include <vector>

#include "deepinfer/request.h"

namespace deepinfer::model {

/// The part of the step that belongs to one sequence: `num_tokens` new tokens at positions
/// start_position, start_position + 1, … . Everything before them is in its state.
struct SequenceInput {
  /// The sequence's slot in `KvCache`; distinct within a step.
  int32_t state_slot = 0;
  /// 0 for a fresh sequence: its slot and blocks are then read as empty, whatever they hold.
  int32_t start_position = 0;
  int32_t num_tokens = 0;
  /// Blocks for positions [0, start_position + num_tokens), in order.
  std::vector<int32_t> block_table;
};

/// Tokens of all sequences, one after the other in the order of `sequences`.
struct ForwardInput {
  std::vector<TokenId> tokens;
  std::vector<SequenceInput> sequences;
  /// Rows of `tokens` whose logits are wanted, ascending.
  std::vector<int32_t> logit_rows;
};

}  // namespace deepinfer::model
