#pragma once

/// The real executor: one device, the model on it, its caches.

#include <memory>
#include <string>
#include <vector>

#include "deepinfer/config.h"
#include "device/device.h"
#include "engine/executor.h"
#include "engine/memory_plan.h"
#include "engine/sampler.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace deepinfer::engine {

/// Runs batches on the model and samples. Created and used on its rank's thread.
class ModelRunner final : public Executor {
 public:
  /// Opens the device, maps the weights, plans memory, allocates the caches and runs the largest
  /// steps once, so that their work space is there. Errors are those of `Model::load`,
  /// `plan_memory` and the device.
  static Result<std::unique_ptr<Executor>> create(const EngineConfig& config);

  /// From parts that exist already; `plan` has been made for them.
  ModelRunner(std::unique_ptr<device::Device> device, std::unique_ptr<model::Model> model,
              std::unique_ptr<model::KvCache> cache, const MemoryPlan& plan);

  const ExecutorCapacity& capacity() const override { return capacity_; }
  Result<StepOutput> execute(const Batch& batch) override;

 private:
  Status warm_up(const SchedulerConfig& limits);
  model::ForwardInput make_input(const Batch& batch) const;
  StepOutput sample(const Batch& batch);

  // Constant after construction. The device is declared first: it outlives what lives on it.
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<model::KvCache> cache_;
  ExecutorCapacity capacity_;

  // Work space of a step; grows and is kept.
  std::vector<float> logits_;
};

}  // namespace deepinfer::engine
