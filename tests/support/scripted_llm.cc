#include "support/scripted_llm.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace deepinfer::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Steps that come without delay and for ever are handed out in groups of this size.
constexpr int kMaxJoinedSteps = 64;

bool contains(const std::vector<TokenId>& tokens, TokenId token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

PositionLogprobs invented_logprobs(TokenId token, int32_t num_top) {
  PositionLogprobs position{.chosen = {token, -0.25F}};
  for (int32_t i = 0; i < num_top; ++i) {
    position.top.push_back({i == 0 ? token : i - 1, -0.25F - static_cast<float>(i)});
  }
  return position;
}

}  // namespace

struct ScriptedLlm::Sequence {
  GenerateRequest request;
  Script script;
  Clock::time_point submitted;
  bool running = false;
  bool ended = false;
  bool thinking_closed = false;
  size_t next_step = 0;
  Clock::time_point due;
  Usage usage;
  RequestTimings timings;
  std::optional<constraint::ConstraintState> constraint;
};

class ScriptedLlm::Stream final : public OutputStream {
 public:
  Stream(ScriptedLlm& llm, std::unique_ptr<Sequence> sequence)
      : llm_(llm), sequence_(std::move(sequence)) {}

  ~Stream() override {
    const std::lock_guard lock(llm_.mutex_);
    if (!sequence_->ended) {
      ++llm_.counts_.cancelled;
      llm_.counts_.cancelled_waiting += sequence_->running ? 0 : 1;
      ++llm_.totals_.finished_abort;
      llm_.leave_locked(*sequence_);
    }
  }

  StreamEvent wait_for(milliseconds timeout) override {
    const Clock::time_point give_up = Clock::now() + timeout;
    std::unique_lock lock(llm_.mutex_);
    Sequence& sequence = *sequence_;
    if (sequence.ended) {
      return StreamEnd{};
    }
    for (;;) {
      const Clock::time_point now = Clock::now();
      if (llm_.aborting_) {
        return finish(FinishReason::kAbort);
      }
      if (sequence.request.deadline && now >= *sequence.request.deadline) {
        return fail(deadline_exceeded("the request took longer than allowed"));
      }
      if (sequence.running && now >= sequence.due) {
        return step(now);
      }
      if (now >= give_up) {
        return StreamTimeout{};
      }
      const auto wake = sequence.running ? std::min(give_up, sequence.due) : give_up;
      llm_.changed_.wait_until(lock, wake);
    }
  }

 private:
  // Everything that is due, as one output.
  TokenOutput step(Clock::time_point now) {
    Sequence& sequence = *sequence_;
    TokenOutput output;
    for (int joined = 0; joined < kMaxJoinedSteps && now >= sequence.due; ++joined) {
      if (sequence.next_step == sequence.script.steps.size()) {
        for (const TokenId eos : first_eos()) {
          append(eos, output);
        }
        output.finish = output.finish.value_or(FinishReason::kStop);
      } else if (const ScriptStep& scripted = sequence.script.steps[sequence.next_step];
                 scripted.failure && !output.tokens.empty()) {
        break;  // what came before the failure is an output of its own
      } else if (play(scripted, output)) {
        schedule_next();
      }
      if (output.finish) {
        break;
      }
    }
    return complete(std::move(output));
  }

  std::vector<TokenId> first_eos() const {
    const auto& eos = llm_.model_.eos_token_ids;
    return eos.empty() ? std::vector<TokenId>() : std::vector<TokenId>{eos.front()};
  }

  // True if the script goes on behind this step.
  bool play(const ScriptStep& scripted, TokenOutput& output) {
    if (scripted.failure) {
      output.finish = FinishReason::kError;
      output.error = *scripted.failure;
      return false;
    }
    for (const TokenId token : scripted.tokens) {
      append(token, output);
      if (output.finish) {
        return false;
      }
    }
    sequence_->next_step += scripted.repeat ? 0 : 1;
    return true;
  }

  void schedule_next() {
    Sequence& sequence = *sequence_;
    if (sequence.next_step < sequence.script.steps.size()) {
      sequence.due += sequence.script.steps[sequence.next_step].delay;
    }
  }

  /// Reasoning that reached its limit is closed before the script goes on.
  void append(TokenId token, TokenOutput& output) {
    const auto& limit = sequence_->request.sampling.thinking_limit;
    const int32_t generated = sequence_->usage.completion_tokens;
    if (limit && !sequence_->thinking_closed && generated >= limit->max_tokens &&
        token != limit->close_token) {
      add(limit->close_token, output);
    }
    if (!output.finish) {
      add(token, output);
    }
  }

  void add(TokenId token, TokenOutput& output) {
    const GenerateRequest& request = sequence_->request;
    if (sequence_->constraint && !sequence_->constraint->accept(token)) {
      output.finish = FinishReason::kError;
      output.error = internal_error("the script breaks the constraint at its token " +
                                    std::to_string(sequence_->usage.completion_tokens));
      return;
    }
    if (request.sampling.thinking_limit) {
      sequence_->thinking_closed |= token == request.sampling.thinking_limit->close_token;
    }
    output.tokens.push_back(token);
    if (request.sampling.logprobs) {
      output.logprobs.push_back(invented_logprobs(token, request.sampling.top_logprobs));
    }
    ++llm_.totals_.generation_tokens;
    const int32_t count = ++sequence_->usage.completion_tokens;
    const bool eos = !request.ignore_eos && contains(llm_.model_.eos_token_ids, token);
    if (count >= request.min_tokens && (eos || contains(request.stop_token_ids, token))) {
      output.finish = FinishReason::kStop;
    } else if (count >= request.max_tokens) {
      output.finish = FinishReason::kLength;
    }
  }

  TokenOutput complete(TokenOutput output) {
    Sequence& sequence = *sequence_;
    const Clock::time_point now = Clock::now();
    const double since_s = base::seconds_between(sequence.submitted, now);
    if (sequence.timings.first_token_s < 0) {
      sequence.timings.first_token_s = since_s;
    }
    llm_.last_step_ = now;
    ++llm_.totals_.steps;
    if (output.finish) {
      sequence.timings.finished_s = since_s;
      count_finish(*output.finish);
      llm_.leave_locked(sequence);
    }
    output.usage = sequence.usage;
    output.timings = sequence.timings;
    return output;
  }

  void count_finish(FinishReason reason) {
    ++llm_.counts_.finished;
    LlmStats& totals = llm_.totals_;
    totals.finished_stop += reason == FinishReason::kStop ? 1 : 0;
    totals.finished_length += reason == FinishReason::kLength ? 1 : 0;
    totals.finished_abort += reason == FinishReason::kAbort ? 1 : 0;
    totals.finished_error += reason == FinishReason::kError ? 1 : 0;
  }

  TokenOutput finish(FinishReason reason) {
    TokenOutput output;
    output.finish = reason;
    return complete(std::move(output));
  }

  TokenOutput fail(Status error) {
    TokenOutput output;
    output.finish = FinishReason::kError;
    output.error = std::move(error);
    return complete(std::move(output));
  }

  ScriptedLlm& llm_;
  std::unique_ptr<Sequence> sequence_;
};

ScriptedLlm::ScriptedLlm(ModelInfo model, ScriptedLimits limits, ScriptFor script_for,
                         std::shared_ptr<constraint::ConstraintCompiler> compiler)
    : model_(std::move(model)),
      limits_(limits),
      script_for_(std::move(script_for)),
      compiler_(std::move(compiler)) {}

ScriptedLlm::~ScriptedLlm() {
  DI_CHECK(counts_.running == 0 && counts_.waiting == 0);
}

Result<std::unique_ptr<OutputStream>> ScriptedLlm::submit(GenerateRequest request) {
  DI_TRY(validate(request));
  std::optional<constraint::ConstraintState> constraint;
  if (compiler_ && request.constraint) {
    DI_ASSIGN(const auto compiled, compiler_->compile(*request.constraint));
    constraint.emplace(compiled);
  }
  Script script = script_for_(request);
  const std::lock_guard lock(mutex_);
  if (draining_) {
    return unavailable("the engine is shutting down").with_reason("server_draining");
  }
  const bool full =
      counts_.running >= limits_.max_running && counts_.waiting >= limits_.max_waiting;
  if (full || !script.refusal.is_ok()) {
    ++counts_.refused;
    ++totals_.refused;
    return full ? Status(resource_exhausted("the queue is full").with_reason("server_overloaded"))
                : script.refusal;
  }
  auto sequence = std::make_unique<Sequence>();
  sequence->submitted = Clock::now();
  sequence->usage.prompt_tokens = static_cast<int32_t>(request.prompt.size());
  last_prompt_ = request.prompt;
  sequence->request = std::move(request);
  sequence->script = std::move(script);
  sequence->constraint = std::move(constraint);
  ++counts_.submitted;
  totals_.prompt_tokens += sequence->request.prompt.size();
  ++counts_.waiting;
  waiting_.push_back(sequence.get());
  promote_locked();
  return std::unique_ptr<OutputStream>(new Stream(*this, std::move(sequence)));
}

void ScriptedLlm::promote_locked() {
  while (counts_.running < limits_.max_running && !waiting_.empty()) {
    Sequence& sequence = *waiting_.front();
    waiting_.pop_front();
    const Clock::time_point now = Clock::now();
    sequence.running = true;
    sequence.timings.queued_s = base::seconds_between(sequence.submitted, now);
    sequence.due = now + (sequence.script.steps.empty() ? milliseconds{0}
                                                        : sequence.script.steps.front().delay);
    --counts_.waiting;
    ++counts_.running;
  }
  changed_.notify_all();
}

void ScriptedLlm::leave_locked(Sequence& sequence) {
  sequence.ended = true;
  if (sequence.running) {
    --counts_.running;
  } else {
    waiting_.remove(&sequence);
    --counts_.waiting;
  }
  promote_locked();
}

LlmStats ScriptedLlm::stats() const {
  const std::lock_guard lock(mutex_);
  LlmStats stats = totals_;
  stats.num_running = counts_.running;
  stats.num_waiting = counts_.waiting;
  stats.blocks_used = counts_.running;
  stats.blocks_total = limits_.max_running;
  if (stats.steps > 0) {
    stats.last_step_age_s = base::seconds_between(last_step_, Clock::now());
  }
  return stats;
}

Status ScriptedLlm::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void ScriptedLlm::set_health(Status status) {
  const std::lock_guard lock(mutex_);
  health_ = std::move(status);
}

void ScriptedLlm::shutdown(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  changed_.wait_until(lock, deadline, [this] { return counts_.running + counts_.waiting == 0; });
  aborting_ = true;
  changed_.notify_all();
}

ScriptedCounts ScriptedLlm::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<TokenId> ScriptedLlm::last_prompt() const {
  const std::lock_guard lock(mutex_);
  return last_prompt_;
}

bool ScriptedLlm::wait_until(const std::function<bool(const ScriptedCounts&)>& condition,
                             milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return condition(counts_); });
}

}  // namespace deepinfer::testing
