#include "scheduler/scheduler.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace deepinfer::scheduler {
namespace {

// Prompt tokens of one turn (docs/architecture.md, "What a step holds"); smaller where a step is
// small, so that several prompts get a turn in it.
constexpr int32_t kMaxQuantum = 512;

// Part of the cache that may be held back for sequences that run already: 1 / 8.
constexpr int32_t kSpareFraction = 8;

std::vector<TokenId> end_tokens(const GenerateRequest& request,
                                const engine::ExecutorCapacity& capacity) {
  std::vector<TokenId> tokens = request.stop_token_ids;
  if (!request.ignore_eos) {
    tokens.insert(tokens.end(), capacity.eos_token_ids.begin(), capacity.eos_token_ids.end());
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

}  // namespace

int32_t longest_sequence(const engine::ExecutorCapacity& capacity) {
  const int64_t in_blocks = int64_t{capacity.num_blocks} * capacity.block_size;
  return static_cast<int32_t>(std::min<int64_t>(capacity.max_model_len, in_blocks));
}

Scheduler::Scheduler(const SchedulerConfig& config, const engine::ExecutorCapacity& capacity)
    : config_(config),
      capacity_(capacity),
      // No more than a step has tokens, so that every running sequence advances in each step.
      max_running_(
          std::min({config.max_num_seqs, capacity.num_slots, config.max_num_batched_tokens})),
      quantum_(std::clamp(config.max_num_batched_tokens / 4, 1, kMaxQuantum)),
      blocks_(capacity.num_blocks, capacity.block_size),
      free_slots_(static_cast<size_t>(capacity.num_slots)) {
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0);  // slot 0 on top
}

Scheduler::~Scheduler() = default;

// ---- Arrival.

Status Scheduler::add(SequenceId id, GenerateRequest request, uint64_t seed,
                      base::TimePoint submitted,
                      const std::optional<constraint::CompiledConstraint>& constraint) {
  DI_CHECK(constraint.has_value() == request.constraint.has_value());
  const int32_t longest = longest_sequence(capacity_);
  if (request.prompt.size() >= static_cast<size_t>(longest)) {
    return invalid_argument(
               fmt::format("the longest sequence is {} tokens, prompt and output together, but "
                           "the prompt has {}",
                           longest, request.prompt.size()))
        .with_param("prompt")
        .with_reason("context_length_exceeded");
  }
  auto sequence = std::make_unique<Sequence>(id, std::move(request), seed, submitted);
  sequence->max_known_tokens = static_cast<int32_t>(
      std::min<int64_t>(longest, int64_t{sequence->num_prompt()} + sequence->request.max_tokens));
  sequence->end_tokens = end_tokens(sequence->request, capacity_);
  if (constraint) {
    sequence->constraint.emplace(*constraint);
  }
  if (sequence->request.deadline) {
    deadlines_.emplace(*sequence->request.deadline, id);
  }
  waiting_.insert(sequence.get());
  const bool is_new = sequences_.emplace(id, std::move(sequence)).second;
  DI_CHECK(is_new);
  return Status::ok();
}

// ---- Planning.

engine::Batch Scheduler::schedule(base::TimePoint now) {
  expire(now);
  engine::Batch batch{.step = num_steps_, .sequences = {}};
  planned_steps_.push_back({.step = num_steps_, .sequences = {}});
  ++num_steps_;
  batch.sequences.reserve(running_.size());
  planned_steps_.back().sequences.reserve(running_.size());
  budget_ = config_.max_num_batched_tokens;
  plan_decodes(batch);
  start_waiting(now);
  plan_prompts(batch);
  if (batch.sequences.empty()) {
    planned_steps_.pop_back();
  }
  return batch;
}

void Scheduler::expire(base::TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto [deadline, id] = *deadlines_.begin();
    deadlines_.erase(deadlines_.begin());
    Sequence& sequence = *sequences_.at(id);
    const Status error =
        deadline_exceeded(fmt::format("the request did not finish within its {:.3f} s",
                                      base::seconds_between(sequence.submitted, deadline)));
    leave(sequence, FinishReason::kError, error, now);
  }
}

void Scheduler::plan_decodes(engine::Batch& batch) {
  // make_room only ever takes the last in order of service away, so what was planned before stays.
  for (auto it = running_.begin(); it != running_.end() && budget_ > 0;) {
    Sequence& sequence = **it;
    if (!sequence.prefilling && !sequence.leaving && sequence.num_unscheduled() == 1) {
      if (!make_room(sequence)) {
        return;
      }
      plan(sequence, 1, batch);
      --budget_;
    }
    ++it;
  }
}

// Gives a decoding sequence the blocks of its known tokens, at the expense of those behind it in
// order of service. False if it had to go back to the queue itself, or blocks come free only when
// a step in flight returns.
bool Scheduler::make_room(Sequence& sequence) {
  while (!blocks_.grow(sequence.blocks, sequence.num_known())) {
    Sequence& newest = **running_.rbegin();
    if (newest.num_in_flight() > 0) {
      return false;
    }
    preempt(newest);
    if (&newest == &sequence) {
      return false;
    }
  }
  return true;
}

// Strictly in order of service: a prompt that does not fit yet is not overtaken by smaller ones.
void Scheduler::start_waiting(base::TimePoint now) {
  while (!waiting_.empty() && num_running() < max_running_ && !free_slots_.empty()) {
    Sequence& sequence = **waiting_.begin();
    if (!fits_now(sequence)) {
      return;
    }
    const bool allocated = blocks_.grow(sequence.blocks, sequence.num_known());
    DI_CHECK(allocated);
    sequence.slot = free_slots_.back();
    free_slots_.pop_back();
    sequence.running = true;
    sequence.prefilling = true;
    waiting_.erase(waiting_.begin());
    running_.insert(&sequence);
    prefilling_[sequence.request.priority].push_back(&sequence);
    if (sequence.queued_s < 0) {
      sequence.queued_s = base::seconds_between(sequence.submitted, now);
      dequeued_.push_back({.prompt_tokens = sequence.num_prompt(), .started = true});
    }
  }
}

// A start leaves a spare block for each running sequence, lest it be preempted at once.
bool Scheduler::fits_now(const Sequence& sequence) const {
  const int32_t spare = std::min(num_running(), blocks_.num_blocks() / kSpareFraction);
  return blocks_.blocks_for(sequence.num_known()) + spare <= blocks_.num_free();
}

void Scheduler::plan_prompts(engine::Batch& batch) {
  for (auto& [priority, prompts] : prefilling_) {
    share_budget(prompts, batch);
  }
  std::erase_if(prefilling_, [](const auto& entry) { return entry.second.empty(); });
}

// Deficit round robin: the front has its turn until it has taken its quantum or what it may
// take in this step, then goes to the back. A turn that the budget cuts short goes on in the
// next step.
void Scheduler::share_budget(std::deque<Sequence*>& prompts, engine::Batch& batch) {
  const int32_t chunk = config_.prefill_chunk_tokens > 0 ? config_.prefill_chunk_tokens
                                                         : config_.max_num_batched_tokens;
  const auto to_back = [&prompts] {
    prompts.push_back(prompts.front());
    prompts.pop_front();
  };
  std::vector<Sequence*> served;
  size_t num_sated = 0;
  while (budget_ > 0 && num_sated < prompts.size()) {
    Sequence& sequence = *prompts.front();
    const int32_t wanted = std::min(sequence.num_unscheduled(), chunk) - sequence.granted;
    if (wanted <= 0) {
      ++num_sated;
      to_back();
      continue;
    }
    num_sated = 0;
    if (sequence.deficit == 0) {
      sequence.deficit = quantum_;
    }
    if (sequence.granted == 0) {
      served.push_back(&sequence);
    }
    const int32_t taken = std::min({wanted, sequence.deficit, budget_});
    sequence.granted += taken;
    sequence.deficit -= taken;
    budget_ -= taken;
    if (taken == wanted || sequence.deficit == 0) {
      sequence.deficit = 0;
      to_back();
    }
  }
  for (Sequence* sequence : served) {
    plan(*sequence, std::exchange(sequence->granted, 0), batch);
  }
}

void Scheduler::plan(Sequence& sequence, int32_t num_tokens, engine::Batch& batch) {
  const int32_t begin = sequence.num_scheduled;
  engine::BatchSequence& planned = batch.sequences.emplace_back();
  planned.id = sequence.id;
  planned.state_slot = sequence.slot;
  planned.start_position = begin;
  planned.tokens.reserve(static_cast<size_t>(num_tokens));
  for (int32_t position = begin; position < begin + num_tokens; ++position) {
    planned.tokens.push_back(sequence.token_at(position));
  }
  const auto num_blocks = static_cast<std::ptrdiff_t>(blocks_.blocks_for(begin + num_tokens));
  planned.block_table.assign(sequence.blocks.begin(), sequence.blocks.begin() + num_blocks);
  sequence.num_scheduled += num_tokens;
  const bool samples = sequence.num_unscheduled() == 0;
  if (samples) {
    planned.sampling = sampling_row(sequence);
    stop_prefilling(sequence);
  }
  planned_steps_.back().sequences.push_back(
      {.id = sequence.id, .num_tokens = num_tokens, .samples = samples});
}

engine::SamplingRow Scheduler::sampling_row(Sequence& sequence) const {
  engine::SamplingRow row;
  row.params = sequence.request.sampling;
  row.seed = sequence.seed;
  row.position = sequence.num_known();
  if (sequence.num_generated() < sequence.request.min_tokens) {
    row.banned = sequence.end_tokens;
  }
  constrain(sequence, row);
  row.forced = sequence.forced_token();
  row.generated_counts.assign(sequence.generated_counts.begin(), sequence.generated_counts.end());
  if (sequence.generated.empty()) {
    row.probe_logits = sequence.request.probe_logits;
  }
  return row;
}

// Until it begins a constraint is a few bans, which cost less than a mask.
void Scheduler::constrain(Sequence& sequence, engine::SamplingRow& row) {
  if (!sequence.constraint) {
    return;
  }
  if (!sequence.constraint->waiting()) {
    row.constraint = &*sequence.constraint;
    return;
  }
  const std::vector<TokenId>& banned = sequence.constraint->banned_while_waiting();
  row.banned.insert(row.banned.end(), banned.begin(), banned.end());
}

// ---- Results.

Status Scheduler::update(const engine::StepOutput& output, base::TimePoint now) {
  if (planned_steps_.empty() || planned_steps_.front().step != output.step) {
    return internal_error(fmt::format(
        "results of step {} came, but {} is awaited", output.step,
        planned_steps_.empty() ? "none" : fmt::format("{}", planned_steps_.front().step)));
  }
  const PlannedStep planned = std::move(planned_steps_.front());
  planned_steps_.pop_front();
  auto result = output.sequences.begin();
  for (const PlannedSequence& sequence : planned.sequences) {
    if (!sequence.samples) {
      DI_TRY(take_in(sequence, nullptr, now));
      continue;
    }
    if (result == output.sequences.end() || result->id != sequence.id) {
      return internal_error(fmt::format("step {} has no result for sequence {} in its place",
                                        output.step, sequence.id));
    }
    DI_TRY(take_in(sequence, &*result++, now));
  }
  if (result != output.sequences.end()) {
    return internal_error(fmt::format("step {} has a result for sequence {}, which did not sample",
                                      output.step, result->id));
  }
  return Status::ok();
}

Status Scheduler::take_in(const PlannedSequence& planned, const engine::SequenceOutput* result,
                          base::TimePoint now) {
  Sequence& sequence = *sequences_.at(planned.id);
  sequence.num_computed += planned.num_tokens;
  if (sequence.leaving) {
    if (sequence.num_in_flight() == 0) {
      leave(sequence, *sequence.leaving, Status(sequence.leaving_error), now);
    }
    return Status::ok();
  }
  if (result == nullptr) {
    return Status::ok();
  }
  if (!result->error.is_ok()) {
    leave(sequence, FinishReason::kError, result->error, now);
    return Status::ok();
  }
  if (result->tokens.empty()) {
    return internal_error(fmt::format("sequence {} sampled, but got no token", planned.id));
  }
  for (const TokenId token : result->tokens) {
    if (token < 0 || token >= capacity_.vocab_size) {
      return internal_error(fmt::format("sequence {} got token {}, outside [0, {})", planned.id,
                                        token, capacity_.vocab_size));
    }
  }
  append(sequence, *result, now);
  return Status::ok();
}

void Scheduler::append(Sequence& sequence, const engine::SequenceOutput& result,
                       base::TimePoint now) {
  if (sequence.first_token_s < 0) {
    sequence.first_token_s = base::seconds_between(sequence.submitted, now);
  }
  TokenOutput output;
  output.probe_logits = result.probe_logits;
  for (size_t i = 0; i < result.tokens.size() && !output.finish; ++i) {
    const TokenId token = result.tokens[i];
    if (sequence.constraint && !sequence.constraint->accept(token)) {
      output.finish = FinishReason::kError;
      output.error = internal_error(fmt::format("token {} at position {} breaks the constraint",
                                                token, sequence.num_known()));
      break;
    }
    sequence.generated.push_back(token);
    if (sequence.has_penalty()) {
      ++sequence.generated_counts[token];
    }
    if (const auto& limit = sequence.request.sampling.thinking_limit) {
      sequence.thinking_closed |= token == limit->close_token;
    }
    output.tokens.push_back(token);
    if (i < result.logprobs.size()) {
      output.logprobs.push_back(result.logprobs[i]);
    }
    if (sequence.ends_at(token)) {
      output.finish = FinishReason::kStop;
    } else if (sequence.num_known() >= sequence.max_known_tokens) {
      output.finish = FinishReason::kLength;
    }
  }
  if (output.finish) {
    finish(sequence, std::move(output), now);
  } else {
    emit(sequence, std::move(output), now);
  }
}

// ---- Leaving.

void Scheduler::abort(SequenceId id, base::TimePoint now) {
  const auto found = sequences_.find(id);
  if (found != sequences_.end()) {
    leave(*found->second, FinishReason::kAbort, Status::ok(), now);
  }
}

void Scheduler::abort_all(base::TimePoint now) {
  std::vector<SequenceId> ids;
  for (const auto& [id, sequence] : sequences_) {
    ids.push_back(id);
  }
  for (const SequenceId id : ids) {
    abort(id, now);
  }
}

void Scheduler::fail_all(const Status& error, base::TimePoint now) {
  planned_steps_.clear();
  while (!sequences_.empty()) {
    Sequence& sequence = *sequences_.begin()->second;
    sequence.num_computed = sequence.num_scheduled;
    leave(sequence, FinishReason::kError, error, now);
  }
}

// Ends a sequence now, or marks it if its blocks and slot are still being read and written.
void Scheduler::leave(Sequence& sequence, FinishReason reason, const Status& error,
                      base::TimePoint now) {
  if (sequence.num_in_flight() > 0) {
    if (!sequence.leaving) {
      sequence.leaving = reason;
      sequence.leaving_error = error;
      stop_prefilling(sequence);
    }
    return;
  }
  TokenOutput output;
  output.finish = reason;
  output.error = error;
  finish(sequence, std::move(output), now);
}

void Scheduler::finish(Sequence& sequence, TokenOutput output, base::TimePoint now) {
  if (sequence.running) {
    stop_running(sequence);
  } else {
    waiting_.erase(&sequence);
  }
  if (sequence.queued_s < 0) {
    dequeued_.push_back({.prompt_tokens = sequence.num_prompt(), .started = false});
  }
  if (sequence.request.deadline) {
    deadlines_.erase({*sequence.request.deadline, sequence.id});
  }
  const SequenceId id = sequence.id;
  emit(sequence, std::move(output), now);
  sequences_.erase(id);
}

void Scheduler::emit(Sequence& sequence, TokenOutput output, base::TimePoint now) {
  output.usage = {.prompt_tokens = sequence.num_prompt(),
                  .cached_tokens = 0,
                  .completion_tokens = sequence.num_generated()};
  output.timings = {
      .queued_s = sequence.queued_s,
      .first_token_s = sequence.first_token_s,
      .finished_s = output.finish ? base::seconds_between(sequence.submitted, now) : -1.0};
  outputs_.push_back({.id = sequence.id, .output = std::move(output)});
}

// What it generated stays: it is computed again together with the prompt.
void Scheduler::preempt(Sequence& sequence) {
  stop_running(sequence);
  sequence.num_scheduled = 0;
  sequence.num_computed = 0;
  waiting_.insert(&sequence);
  ++num_preemptions_;
}

void Scheduler::stop_running(Sequence& sequence) {
  DI_CHECK(sequence.num_in_flight() == 0);
  stop_prefilling(sequence);
  running_.erase(&sequence);
  sequence.running = false;
  blocks_.release(sequence.blocks);
  free_slots_.push_back(sequence.slot);
  sequence.slot = -1;
}

void Scheduler::stop_prefilling(Sequence& sequence) {
  if (!sequence.prefilling) {
    return;
  }
  sequence.prefilling = false;
  sequence.deficit = 0;
  std::erase(prefilling_[sequence.request.priority], &sequence);
}

std::vector<RequestOutput> Scheduler::take_outputs() {
  return std::exchange(outputs_, {});
}

std::vector<Dequeued> Scheduler::take_dequeued() {
  return std::exchange(dequeued_, {});
}

}  // namespace deepinfer::scheduler
