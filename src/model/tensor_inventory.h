#pragma once

/// Every tensor a checkpoint holds, with its format and shape: the one list behind loading,
/// checking and reporting.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_config.h"

namespace deepinfer::model {

/// How a tensor is stored (model spec §3.1).
enum class TensorFormat : uint8_t {
  kBF16,
  kF32,
  kFp8Tiles,  ///< E4M3 with an E8M0 scale per 32 x 32 tile
  kFp8Rows,   ///< E4M3 with an E8M0 scale per row and 32 columns
  kFp4Rows,   ///< E2M1, two codes a byte, with an E8M0 scale per row and 32 columns
};

/// A tensor as it lies in the file.
struct StoredSpec {
  std::string name;
  std::string_view dtype;  ///< safetensors spelling
  std::vector<int64_t> shape;
  int64_t bytes() const;
};

/// A tensor of the model.
struct TensorSpec {
  std::string name;
  TensorFormat format = TensorFormat::kBF16;
  /// Logical shape: FP4 columns are counted in values.
  std::vector<int64_t> shape;
  /// What it belongs to: embed, head, norm, hc, attention, compressor, indexer, router,
  /// experts, shared, engram or draft.
  std::string_view part;
  /// Whether the text model needs it. Draft stages and vision biases are not needed, but must
  /// have the right shape when present.
  bool required = true;

  /// The tensor and, for the scaled formats, its scale.
  std::vector<StoredSpec> stored() const;
  int64_t bytes() const;
};

/// All tensors of the model `config` describes (model spec §3.2), names without the optional
/// `model.` prefix.
std::vector<TensorSpec> tensor_inventory(const ModelConfig& config);

/// `layers.{l}` or, from num_hidden_layers on, `mtp.{i}`.
std::string block_prefix(const ModelConfig& config, int32_t layer);

}  // namespace deepinfer::model
