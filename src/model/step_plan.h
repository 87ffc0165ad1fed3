#pragma once

/// Everything about a step that follows from its shape: positions, which rows go where in the
/// caches, what each query may see. Computed once and used by every layer. Private to this
/// module.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/forward_input.h"
#include "model/graph.h"
#include "model/kv_cache.h"

namespace deepinfer::model {

/// kInvalidArgument if the step cannot be run on this cache: sizes, slots, blocks, token ids
/// or logit rows out of range.
Status check_input(const ForwardInput& input, const ModelConfig& config, const KvCacheShape& shape);

/// Which rows of the step enter a ring, and where: the newest ring-size rows of each sequence.
class RingPlan {
 public:
  void build(const kernels::StepView& step, int32_t ring_size);
  Status upload(device::Device& device, int64_t room) { return rows_.upload(device, room); }
  /// Copies the rows of `src` [T, width] that belong into `ring` [num_slots, ring_size, width].
  void scatter(const Graph& graph, const float* src, int64_t width, float* ring) const;

 private:
  /// Neighbouring rows of the step.
  struct Run {
    int64_t src_row = 0;
    int64_t first_index = 0;
    int64_t count = 0;
  };
  std::vector<Run> runs_;
  StagedArray<int64_t> rows_;
};

/// The compressed entries that a step completes and sees, for layers of one ratio.
struct RatioPlan {
  int32_t entries_per_block = 0;
  /// First token of each completed entry; its rotation.
  StagedArray<int32_t> entry_positions;
  /// Row of each completed entry in the cache arrays.
  StagedArray<int64_t> entry_rows;
  /// Rows of the completed groups in [step rows | open rows]: [num_entries, ratio].
  StagedArray<int64_t> group_rows;
  /// Ring rows (slot * ring size + position) of groups begun in an earlier step.
  StagedArray<int64_t> open_rows;
  /// Entries each query sees: floor((p + 1) / ratio). [T]
  StagedArray<int32_t> visible;
  int32_t max_visible = 0;

  int64_t num_entries() const { return entry_rows.size(); }
  void build(const kernels::StepView& step, int32_t ratio, int32_t block_size, int32_t open_ring);
  Status upload(device::Device& device);

  /// Rows of `open_rows` and of all groups together, and completed entries, that a step with as
  /// many tokens and sequences can have.
  int64_t max_open_rows = 0;
  int64_t max_group_rows = 0;
  int64_t max_entries = 0;
};

/// A piece of the step that is a step of its own: rows [begin, begin + view.num_tokens).
struct StepTile {
  int64_t begin = 0;
  kernels::StepView view;
  StagedArray<kernels::SequenceView> sequences;
  StagedArray<int32_t> token_sequence;
};

/// A whole step. Reused from step to step so that its memory is.
class StepPlan {
 public:
  /// `input` is checked already.
  Status build(const ForwardInput& input, const ModelConfig& config, const KvCache& cache,
               device::Device& device);

  int64_t num_tokens() const { return view_.num_tokens; }
  /// Pointers to device memory.
  const kernels::StepView& view() const { return view_; }
  const int32_t* ids() const { return ids_.data(); }
  const int32_t* positions() const { return positions_.data(); }
  /// In host memory, block tables included.
  const std::vector<kernels::SequenceView>& host_sequences() const { return sequences_.host; }
  const RingPlan& window() const { return window_; }
  const RingPlan& open() const { return open_; }
  const RatioPlan& ratio(int32_t ratio) const { return ratios_[static_cast<size_t>(ratio)]; }

  /// Pieces of at most `rows` rows for ops whose work space is large: the first of `tiles`, which
  /// grows if there are too few.
  Result<std::span<const StepTile>> cut(int64_t rows, device::Device& device,
                                        std::vector<StepTile>& tiles) const;

 private:
  void lay_out(const ForwardInput& input);
  Status upload_sequences(const ForwardInput& input, device::Device& device);

  kernels::StepView view_;
  kernels::StepView host_view_;
  StagedArray<int32_t> ids_;
  StagedArray<int32_t> positions_;
  StagedArray<int32_t> token_sequence_;
  StagedArray<int32_t> block_tables_;
  /// On the host with host block tables; uploaded with device ones.
  StagedArray<kernels::SequenceView> sequences_;
  StagedArray<kernels::SequenceView> device_sequences_;
  RingPlan window_;
  RingPlan open_;
  std::array<RatioPlan, 3> ratios_;
};

}  // namespace deepinfer::model
