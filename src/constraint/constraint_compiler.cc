#include <spdlog/fmt/fmt.h>
#include <xgrammar/compiler.h>
#include <xgrammar/tokenizer_info.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/thread.h"
#include "constraint/compiled.h"
#include "constraint/constraint.h"
#include "constraint/grammar_builder.h"
#include "constraint/library_log.h"

namespace deepinfer::constraint {
namespace {

/// What tells two grammars apart, as one string; fields are led by their length.
std::string key_of(const ConstraintSpec& spec) {
  std::string key;
  const auto add = [&](std::string_view field) {
    key += fmt::format("{}:", field.size());
    key += field;
  };
  add(fmt::format("{} {} {} {} {} {}", static_cast<int>(spec.kind), spec.markup.marker,
                  spec.call_required, spec.single_call, spec.begins_in_block,
                  spec.starts_after.value_or(-1)));
  add(spec.text);
  for (const std::string& choice : spec.choices) {
    add(choice);
  }
  for (const ConstrainedTool& tool : spec.tools) {
    add(tool.name);
    add(tool.parameters);
    add(tool.strict ? "strict" : "");
  }
  add(spec.markup.block);
  add(spec.markup.space);
  return key;
}

/// Compiled constraints by key, least recently used last. Not thread-safe.
class Cache {
 public:
  explicit Cache(size_t max_bytes) : max_bytes_(max_bytes) {}

  std::optional<CompiledConstraint> find(const std::string& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return std::nullopt;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->compiled;
  }

  void add(const std::string& key, const CompiledConstraint& compiled) {
    if (by_key_.contains(key)) {
      return;
    }
    entries_.push_front(
        {.key = key, .compiled = compiled, .bytes = key.size() + compiled.size_bytes()});
    by_key_.emplace(key, entries_.begin());
    bytes_ += entries_.front().bytes;
    while (bytes_ > max_bytes_) {
      bytes_ -= entries_.back().bytes;
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    std::string key;
    CompiledConstraint compiled;
    size_t bytes = 0;
  };

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

/// The library takes tokens without bytes for ones that can never come. Control tokens get bytes
/// that no text has, for they are not UTF-8, and so can be matched by their ids and by nothing
/// else.
std::vector<std::string> with_control_tokens(std::vector<std::string> tokens) {
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) {
      tokens[id] = fmt::format("\xFF\xFE{}", id);
    }
  }
  return tokens;
}

Status refusal(std::string message, std::string_view reason) {
  return invalid_argument(std::move(message)).with_reason(std::string(reason));
}

}  // namespace

size_t CompiledConstraint::size_bytes() const {
  return impl_->size_bytes;
}

/// A compilation cannot be stopped half-way: one that its request gave up on runs on, bounded by
/// the limits of what is accepted, and holds one of the threads meanwhile.
class ConstraintCompiler::Impl {
 public:
  using Outcome = Result<CompiledConstraint>;
  /// One compilation, and who waits for it.
  struct Job {
    std::string key;
    ConstraintSpec spec;
    std::optional<Outcome> outcome;
    int num_waiters = 0;
  };

  Impl(const Vocabulary& vocabulary, const CompilerOptions& options)
      : options_(options),
        stop_tokens_(vocabulary.stop_tokens),
        tokens_(with_control_tokens(vocabulary.tokens), xgrammar::VocabType::RAW,
                static_cast<int>(vocabulary.tokens.size()), stop_tokens_),
        compiler_(tokens_, /*max_threads=*/1, /*cache_enabled=*/false),
        cache_(options.cache_bytes) {
    for (int i = 0; i < options.num_threads; ++i) {
      threads_.emplace_back(fmt::format("grammar{}", i), [this] { work(); });
    }
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    threads_.clear();
  }

  Outcome compile(const ConstraintSpec& spec) {
    const std::string key = key_of(spec);
    std::unique_lock lock(mutex_);
    if (auto cached = cache_.find(key)) {
      return *std::move(cached);
    }
    std::shared_ptr<Job>& pending = pending_[key];
    if (!pending) {
      if (pending_.size() > options_.max_pending) {
        pending_.erase(key);
        return Status(resource_exhausted("too many grammars wait to be compiled")
                          .with_reason("server_overloaded"));
      }
      pending = std::make_shared<Job>(Job{.key = key, .spec = spec, .outcome = {}});
      queue_.push_back(pending);
      changed_.notify_all();
    }
    const std::shared_ptr<Job> job = pending;
    ++job->num_waiters;
    if (!changed_.wait_for(lock, options_.deadline, [&] { return job->outcome.has_value(); })) {
      if (--job->num_waiters == 0) {
        forget(job);
      }
      return refusal(fmt::format("compiling it took longer than {} ms", options_.deadline.count()),
                     "grammar_too_complex");
    }
    return *job->outcome;
  }

 private:
  /// It is done, or nobody waits for it any more: then it is not begun if it was not yet. Holds
  /// mutex_.
  void forget(const std::shared_ptr<Job>& job) {
    std::erase(queue_, job);
    if (const auto at = pending_.find(job->key); at != pending_.end() && at->second == job) {
      pending_.erase(at);
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (closed_) {
        return;
      }
      const std::shared_ptr<Job> job = queue_.front();
      queue_.pop_front();
      lock.unlock();
      Outcome outcome = guarded_make(job->spec);
      lock.lock();
      if (outcome) {
        cache_.add(job->key, *outcome);
      }
      job->outcome = std::move(outcome);
      forget(job);
      changed_.notify_all();
    }
  }

  Outcome guarded_make(const ConstraintSpec& spec) {
    try {
      return make(spec);
    } catch (const std::bad_alloc&) {
      return refusal("compiling it needs too much memory", "grammar_too_complex");
    } catch (const std::exception& error) {
      return refusal(error.what(), "unsupported_schema");
    }
  }

  Outcome make(const ConstraintSpec& spec) {
    const WarningGuard warnings;
    DI_ASSIGN(const xgrammar::Grammar grammar, build_grammar(spec, options_.schema, tokens_));
    if (!warnings.first()) {
      auto compiled = std::make_shared<CompiledConstraint::Impl>(
          CompiledConstraint::Impl{.grammar = compiler_.CompileGrammar(grammar),
                                   .starts_after = spec.starts_after,
                                   .banned_while_waiting = stop_tokens_});
      if (spec.kind == ConstraintSpec::Kind::kToolCalls) {
        compiled->banned_while_waiting.push_back(spec.markup.marker);
      }
      compiled->size_bytes = compiled->grammar.MemorySizeBytes();
      if (compiled->size_bytes > options_.max_compiled_bytes) {
        return refusal(fmt::format("compiled it has {} bytes; at most {} are accepted",
                                   compiled->size_bytes, options_.max_compiled_bytes),
                       "grammar_too_complex");
      }
      if (!warnings.first()) {
        return CompiledConstraint(std::move(compiled));
      }
    }
    return refusal(fmt::format("it cannot be enforced: {}", *warnings.first()),
                   "unsupported_schema");
  }

  const CompilerOptions options_;
  const std::vector<TokenId> stop_tokens_;
  const xgrammar::TokenizerInfo tokens_;
  xgrammar::GrammarCompiler compiler_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  Cache cache_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::unordered_map<std::string, std::shared_ptr<Job>> pending_;
  bool closed_ = false;

  std::vector<base::NamedThread> threads_;
};

ConstraintCompiler::ConstraintCompiler(const Vocabulary& vocabulary, const CompilerOptions& options)
    : impl_(std::make_unique<Impl>(vocabulary, options)) {}

ConstraintCompiler::~ConstraintCompiler() = default;

Result<CompiledConstraint> ConstraintCompiler::compile(const ConstraintSpec& spec) {
  auto outcome = impl_->compile(spec);
  if (!outcome) {
    const Status& error = outcome.error();
    Status named = error.with_context(fmt::format("`{}`", spec.param));
    return std::move(named).with_param(spec.param);
  }
  return outcome;
}

}  // namespace deepinfer::constraint
