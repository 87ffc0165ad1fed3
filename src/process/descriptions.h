#pragma once

/// The members of everything that crosses the pipe, in order; see wire.h.

#include "process/message.h"
#include "process/wire.h"

namespace deepinfer {

// In the namespace of the structs, where argument-dependent lookup finds them.

constexpr StatusCode last_enumerator(StatusCode /*type*/) {
  return StatusCode::kInternal;
}
constexpr FinishReason last_enumerator(FinishReason /*type*/) {
  return FinishReason::kError;
}
constexpr ConstraintSpec::Kind last_enumerator(ConstraintSpec::Kind /*type*/) {
  return ConstraintSpec::Kind::kToolCalls;
}

void describe(auto& v, ParallelConfig& c) {
  v("data", c.data);
  v("context", c.context);
  v("expert", c.expert);
}

void describe(auto& v, SchedulerConfig& c) {
  v("max_num_seqs", c.max_num_seqs);
  v("max_num_batched_tokens", c.max_num_batched_tokens);
  v("max_num_queued_reqs", c.max_num_queued_reqs);
  v("max_num_queued_tokens", c.max_num_queued_tokens);
  v("prefill_chunk_tokens", c.prefill_chunk_tokens);
}

void describe(auto& v, EngineConfig& c) {
  v("model_dir", c.model_dir);
  v("tokenizer_dir", c.tokenizer_dir);
  v("device", c.device);
  v("kernel_variant", c.kernel_variant);
  v("num_threads", c.num_threads);
  v("max_model_len", c.max_model_len);
  v("block_size", c.block_size);
  v("kv_cache_memory_bytes", c.kv_cache_memory_bytes);
  v("max_rollback", c.max_rollback);
  v("seed", c.seed);
  v("hang_timeout", c.hang_timeout);
  v("parallel", c.parallel);
  v("scheduler", c.scheduler);
}

void describe(auto& v, ConstrainedTool& t) {
  v("name", t.name);
  v("parameters", t.parameters);
  v("strict", t.strict);
}

void describe(auto& v, ToolCallMarkup& m) {
  v("marker", m.marker);
  v("block", m.block);
  v("space", m.space);
}

void describe(auto& v, ConstraintSpec& c) {
  v("kind", c.kind);
  v("text", c.text);
  v("choices", c.choices);
  v("tools", c.tools);
  v("markup", c.markup);
  v("call_required", c.call_required);
  v("single_call", c.single_call);
  v("begins_in_block", c.begins_in_block);
  v("starts_after", c.starts_after);
  v("param", c.param);
}

void describe(auto& v, ThinkingLimit& l) {
  v("max_tokens", l.max_tokens);
  v("close_token", l.close_token);
}

void describe(auto& v, SamplingParams& p) {
  v("temperature", p.temperature);
  v("top_p", p.top_p);
  v("top_k", p.top_k);
  v("min_p", p.min_p);
  v("presence_penalty", p.presence_penalty);
  v("frequency_penalty", p.frequency_penalty);
  v("logit_bias", p.logit_bias);
  v("seed", p.seed);
  v("logprobs", p.logprobs);
  v("top_logprobs", p.top_logprobs);
  v("thinking_limit", p.thinking_limit);
}

void describe(auto& v, GenerateRequest& r) {
  v("id", r.id);
  v("prompt", r.prompt);
  v("sampling", r.sampling);
  v("max_tokens", r.max_tokens);
  v("min_tokens", r.min_tokens);
  v("stop_token_ids", r.stop_token_ids);
  v("ignore_eos", r.ignore_eos);
  v("constraint", r.constraint);
  v("priority", r.priority);
  v("deadline", r.deadline);
  v("probe_logits", r.probe_logits);
}

void describe(auto& v, TokenLogprob& l) {
  v("token", l.token);
  v("logprob", l.logprob);
}

void describe(auto& v, PositionLogprobs& p) {
  v("chosen", p.chosen);
  v("top", p.top);
}

void describe(auto& v, Usage& u) {
  v("prompt_tokens", u.prompt_tokens);
  v("cached_tokens", u.cached_tokens);
  v("completion_tokens", u.completion_tokens);
}

void describe(auto& v, RequestTimings& t) {
  v("queued_s", t.queued_s);
  v("first_token_s", t.first_token_s);
  v("finished_s", t.finished_s);
}

inline void describe(process::Writer& v, const Status& s) {
  v("code", s.code());
  v("message", s.message());
  v("param", s.param());
  v("reason", s.reason());
}
inline void describe(process::Reader& v, Status& s) {
  StatusCode code{};
  std::string message;
  std::string param;
  std::string reason;
  v("code", code);
  v("message", message);
  v("param", param);
  v("reason", reason);
  s = code == StatusCode::kOk ? Status()
                              : Status(code, std::move(message))
                                    .with_param(std::move(param))
                                    .with_reason(std::move(reason));
}

void describe(auto& v, TokenOutput& o) {
  v("tokens", o.tokens);
  v("logprobs", o.logprobs);
  v("probe_logits", o.probe_logits);
  v("finish", o.finish);
  v("error", o.error);
  v("usage", o.usage);
  v("timings", o.timings);
}

void describe(auto& v, ModelInfo& m) {
  v("vocab_size", m.vocab_size);
  v("max_model_len", m.max_model_len);
  v("eos_token_ids", m.eos_token_ids);
  v("system_fingerprint", m.system_fingerprint);
}

void describe(auto& v, LlmStats& s) {
  v("num_running", s.num_running);
  v("num_waiting", s.num_waiting);
  v("num_waiting_prompt_tokens", s.num_waiting_prompt_tokens);
  v("blocks_used", s.blocks_used);
  v("blocks_total", s.blocks_total);
  v("steps", s.steps);
  v("prompt_tokens", s.prompt_tokens);
  v("generation_tokens", s.generation_tokens);
  v("abandoned_tokens", s.abandoned_tokens);
  v("preemptions", s.preemptions);
  v("finished_stop", s.finished_stop);
  v("finished_length", s.finished_length);
  v("finished_abort", s.finished_abort);
  v("finished_error", s.finished_error);
  v("refused", s.refused);
  v("last_step_age_s", s.last_step_age_s);
}

namespace process {

void describe(auto& v, StartMessage& m) {
  v("engine", m.engine);
  v("log_level", m.log_level);
  v("log_format", m.log_format);
}
void describe(auto& v, SubmitMessage& m) {
  v("number", m.number);
  v("request", m.request);
}
void describe(auto& v, CancelMessage& m) {
  v("number", m.number);
}
void describe(auto& v, StopMessage& m) {
  v("deadline", m.deadline);
}
void describe(auto& v, ReadyMessage& m) {
  v("model", m.model);
}
void describe(auto& v, FailedMessage& m) {
  v("why", m.why);
}
void describe(auto& v, AnswerMessage& m) {
  v("number", m.number);
  v("refusal", m.refusal);
}
void describe(auto& v, OutputsMessage& m) {
  v("outputs", m.outputs);
  v("stats", m.stats);
}
void describe(auto& v, PulseMessage& m) {
  v("stats", m.stats);
  v("health", m.health);
}
void describe(auto& /*v*/, StoppedMessage& /*m*/) {}

}  // namespace process
}  // namespace deepinfer
