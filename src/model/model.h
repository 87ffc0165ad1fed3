#pragma once

/// The V4.1 text model on one device.

#include <memory>
#include <string>

#include "deepinfer/status.h"
#include "device/device.h"
#include "model/forward_input.h"
#include "model/forward_observer.h"
#include "model/kv_cache.h"
#include "model/model_config.h"

namespace deepinfer::model {

/// Weights and graph. Used by one rank's thread only.
class Model {
 public:
  /// Maps and checks every tensor of `model_dir` before anything runs; `tokenizer_dir` holds
  /// tokenizer.json (Engram's token map). Errors name the file or tensor.
  static Result<std::unique_ptr<Model>> load(const std::string& model_dir,
                                             const std::string& tokenizer_dir,
                                             device::Device& device);
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  /// Bytes of mapped weights.
  virtual int64_t weight_bytes() const = 0;

  /// Runs the step and advances the state of its sequences. `logits` receives
  /// [input.logit_rows.size(), vocab_size] float32 in host memory. An empty step is valid.
  /// kInvalidArgument for a step that does not fit the model or the cache; the state is
  /// unchanged then.
  virtual Status forward(const ForwardInput& input, KvCache& cache, float* logits) = 0;

  /// Shows intermediate results of later steps to `observer`; null ends that. Borrowed.
  virtual void set_observer(ForwardObserver* observer) = 0;
};

}  // namespace deepinfer::model
