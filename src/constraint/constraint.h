#pragma once

/// Structured output: constraints compiled for a vocabulary, and their state along a sequence.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "constraint/schema_limits.h"
#include "deepinfer/constraint.h"
#include "deepinfer/status.h"

namespace deepinfer::constraint {

/// What a constraint has to know of a tokenizer.
struct Vocabulary {
  /// Bytes of every token of the model, by id. Empty for control tokens and for ids that stand
  /// for nothing: text never matches them.
  std::vector<std::string> tokens;
  /// End the generation; allowed exactly where the constraint may end.
  std::vector<TokenId> stop_tokens;
};

/// A compiled constraint. Immutable; handles are cheap to copy and thread-safe.
class CompiledConstraint {
 public:
  struct Impl;
  explicit CompiledConstraint(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  const Impl& impl() const { return *impl_; }
  /// About what it holds in memory.
  size_t size_bytes() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Where one sequence stands in its constraint. One thread at a time.
class ConstraintState {
 public:
  explicit ConstraintState(const CompiledConstraint& compiled);
  ~ConstraintState();
  ConstraintState(ConstraintState&&) noexcept;
  ConstraintState& operator=(ConstraintState&&) noexcept;

  /// A second sequence that stands at the same place.
  ConstraintState fork() const;
  /// Back to the beginning.
  void reset();

  /// The constraint has not begun: the reasoning still goes on.
  bool waiting() const;
  /// Tokens that must not come while it waits.
  const std::vector<TokenId>& banned_while_waiting() const;

  /// Words of a mask: one bit per token of the vocabulary, the lowest first.
  size_t mask_words() const;
  /// Sets the bits of the tokens that may come next. False if all may, then `mask` is left alone.
  /// Not while waiting nor after the end. kInternal for a fault inside the library.
  Result<bool> fill_mask(std::span<uint32_t> mask);

  /// Takes the next token. False if it must not come; nothing changes then.
  bool accept(TokenId token);
  /// Takes back the last `count` accepted tokens.
  void rollback(int32_t count);
  /// A stop token was accepted.
  bool ended() const;
  /// The output may end here.
  bool may_end() const;
  /// Tokens accepted so far, before the constraint began too.
  int32_t num_accepted() const;

 private:
  struct Impl;
  explicit ConstraintState(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

struct CompilerOptions {
  /// A request waits no longer for its constraint.
  std::chrono::milliseconds deadline{10000};
  int num_threads = 2;
  /// Compilations that wait or run; more are refused.
  size_t max_pending = 64;
  /// Compiled constraints that are kept, least recently used leave first.
  size_t cache_bytes = size_t{256} * 1024 * 1024;
  /// A larger one is refused.
  size_t max_compiled_bytes = size_t{128} * 1024 * 1024;
  SchemaLimits schema;
};

/// Compiles constraints on threads of its own and keeps the results. Thread-safe.
class ConstraintCompiler {
 public:
  ConstraintCompiler(const Vocabulary& vocabulary, const CompilerOptions& options);
  ~ConstraintCompiler();

  /// The compiled form of `spec`, from the cache or made now. kInvalidArgument (with the spec's
  /// `param`) for a constraint that is wrong, cannot be enforced, or took longer than the
  /// deadline; kResourceExhausted if too many wait. Refusals are not kept.
  Result<CompiledConstraint> compile(const ConstraintSpec& spec);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace deepinfer::constraint
