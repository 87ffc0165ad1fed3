#include "engine/model_runner.h"

#include <spdlog/fmt/fmt.h>

#include <sstream>
#include <utility>

#include "base/log.h"
#include "engine/warm_up.h"
#include "kernels/ops.h"

namespace deepinfer::engine {
namespace {

void log_start(const device::Device& device, const MemoryPlan& plan) {
  DI_LOG_INFO("device: {}", device.description());
  for (const auto& [op, variant] : device.selected_ops().origin) {
    DI_LOG_DEBUG("kernel {}: {}", op, variant);
  }
  std::istringstream lines(plan.describe());
  for (std::string line; std::getline(lines, line);) {
    DI_LOG_INFO("memory: {}", line);
  }
}

std::string make_fingerprint(const model::Model& model, const device::Device& device) {
  const model::ModelConfig& config = model.config();
  return fmt::format("deepinfer-{}-{}-l{}-h{}-v{}-w{}-{}", DI_VERSION, config.architecture,
                     config.num_hidden_layers, config.hidden_size, config.vocab_size,
                     model.weight_bytes(), device.selected_ops().variant);
}

}  // namespace

Result<std::unique_ptr<Executor>> ModelRunner::create(const EngineConfig& config) {
  DI_ASSIGN(auto device, device::make_cpu_device(config.kernel_variant, config.num_threads));
  const std::string& tokenizer_dir =
      config.tokenizer_dir.empty() ? config.model_dir : config.tokenizer_dir;
  DI_ASSIGN(auto model, model::Model::load(config.model_dir, tokenizer_dir, *device));
  DI_ASSIGN(const MemoryPlan plan,
            plan_memory(model->config(), config, device->available_bytes(), model->weight_bytes()));
  log_start(*device, plan);
  DI_ASSIGN(auto cache, model::KvCache::create(model->config(), plan.shape, *device));
  auto runner =
      std::make_unique<ModelRunner>(std::move(device), std::move(model), std::move(cache), plan);
  DI_TRY(runner->warm_up(config.scheduler));
  return std::unique_ptr<Executor>(std::move(runner));
}

ModelRunner::ModelRunner(std::unique_ptr<device::Device> device,
                         std::unique_ptr<model::Model> model, std::unique_ptr<model::KvCache> cache,
                         const MemoryPlan& plan)
    : device_(std::move(device)), model_(std::move(model)), cache_(std::move(cache)) {
  capacity_ = {.num_blocks = plan.shape.num_blocks,
               .block_size = plan.shape.block_size,
               .num_slots = plan.shape.num_slots,
               .max_model_len = plan.max_model_len,
               .vocab_size = model_->config().vocab_size,
               .eos_token_ids = model_->config().eos_token_ids,
               .fingerprint = make_fingerprint(*model_, *device_)};
}

Status ModelRunner::warm_up(const SchedulerConfig& limits) {
  for (const Batch& batch : largest_steps(capacity_, limits)) {
    const auto output = execute(batch);
    if (!output) {
      return Status(output.error())
          .with_context(fmt::format("a step of {} tokens (--max-num-batched-tokens) cannot run",
                                    batch.num_tokens()));
    }
  }
  return Status::ok();
}

Result<StepOutput> ModelRunner::execute(const Batch& batch) {
  const model::ForwardInput input = make_input(batch);
  logits_.resize(input.logit_rows.size() * static_cast<size_t>(capacity_.vocab_size));
  DI_TRY(model_->forward(input, *cache_, logits_.data()));
  return sample(batch);
}

model::ForwardInput ModelRunner::make_input(const Batch& batch) const {
  model::ForwardInput input;
  input.tokens.reserve(static_cast<size_t>(batch.num_tokens()));
  input.sequences.reserve(batch.sequences.size());
  for (const BatchSequence& sequence : batch.sequences) {
    input.tokens.insert(input.tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
    input.sequences.push_back({.state_slot = sequence.state_slot,
                               .start_position = sequence.start_position,
                               .num_tokens = static_cast<int32_t>(sequence.tokens.size()),
                               .block_table = sequence.block_table});
    if (sequence.sampling) {
      input.logit_rows.push_back(static_cast<int32_t>(input.tokens.size()) - 1);
    }
  }
  return input;
}

StepOutput ModelRunner::sample(const Batch& batch) {
  std::vector<const BatchSequence*> sampled;
  for (const BatchSequence& sequence : batch.sequences) {
    if (sequence.sampling) {
      sampled.push_back(&sequence);
    }
  }
  StepOutput output{.step = batch.step, .sequences = {}};
  output.sequences.resize(sampled.size());
  const auto vocab_size = static_cast<size_t>(capacity_.vocab_size);
  // Rows are independent, so they are shared out over the device's threads.
  const auto sample_rows = [&](int64_t begin, int64_t end) {
    Sampler sampler;
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      const std::span<float> logits(logits_.data() + row * vocab_size, vocab_size);
      output.sequences[row] = sampler.sample(*sampled[row]->sampling, logits);
      output.sequences[row].id = sampled[row]->id;
    }
  };
  kernels::parallel_for(device_->context(), static_cast<int64_t>(sampled.size()), 1, sample_rows);
  return output;
}

}  // namespace deepinfer::engine
