#include <dlpack/dlpack.h>
#include <xgrammar/matcher.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "constraint/compiled.h"
#include "constraint/constraint.h"

namespace deepinfer::constraint {

struct ConstraintState::Impl {
  CompiledConstraint compiled;
  xgrammar::GrammarMatcher matcher;
  int32_t num_accepted = 0;
  /// Accepted tokens at which the constraint began; negative while it waits.
  int32_t began_at = -1;

  static Impl start(const CompiledConstraint& compiled) {
    const auto& parts = compiled.impl();
    return {.compiled = compiled,
            .matcher = xgrammar::GrammarMatcher(parts.grammar),
            .began_at = parts.starts_after ? -1 : 0};
  }
};

ConstraintState::ConstraintState(const CompiledConstraint& compiled)
    : impl_(std::make_unique<Impl>(Impl::start(compiled))) {}
ConstraintState::ConstraintState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ConstraintState::~ConstraintState() = default;
ConstraintState::ConstraintState(ConstraintState&&) noexcept = default;
ConstraintState& ConstraintState::operator=(ConstraintState&&) noexcept = default;

ConstraintState ConstraintState::fork() const {
  auto copy = std::make_unique<Impl>(*impl_);
  copy->matcher = impl_->matcher.Fork();
  return ConstraintState(std::move(copy));
}

void ConstraintState::reset() {
  *impl_ = Impl::start(impl_->compiled);
}

bool ConstraintState::waiting() const {
  return impl_->began_at < 0;
}

const std::vector<TokenId>& ConstraintState::banned_while_waiting() const {
  return impl_->compiled.impl().banned_while_waiting;
}

size_t ConstraintState::mask_words() const {
  const int vocab_size = impl_->compiled.impl().grammar.GetTokenizerInfo().GetVocabSize();
  return static_cast<size_t>(xgrammar::GetBitmaskSize(vocab_size));
}

Result<bool> ConstraintState::fill_mask(std::span<uint32_t> mask) {
  DI_CHECK(mask.size() == mask_words() && !waiting());
  auto length = static_cast<int64_t>(mask.size());
  DLTensor tensor{};
  tensor.data = mask.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 1;
  tensor.dtype = xgrammar::GetBitmaskDLType();
  tensor.shape = &length;
  try {
    return impl_->matcher.FillNextTokenBitmask(&tensor);
  } catch (const std::exception& error) {
    return internal_error(std::string("the grammar library failed: ") + error.what());
  }
}

bool ConstraintState::accept(TokenId token) {
  Impl& state = *impl_;
  const auto& parts = state.compiled.impl();
  if (!waiting()) {
    try {
      if (state.matcher.IsTerminated() || !state.matcher.AcceptToken(token)) {
        return false;
      }
    } catch (const std::exception&) {
      return false;
    }
  } else if (token == parts.starts_after) {
    state.began_at = state.num_accepted + 1;
  } else if (std::find(parts.banned_while_waiting.begin(), parts.banned_while_waiting.end(),
                       token) != parts.banned_while_waiting.end()) {
    return false;
  }
  ++state.num_accepted;
  return true;
}

void ConstraintState::rollback(int32_t count) {
  Impl& state = *impl_;
  DI_CHECK(count >= 0 && count <= state.num_accepted);
  const int32_t left = state.num_accepted - count;
  if (!waiting()) {
    const int32_t matched = state.num_accepted - state.began_at;
    state.matcher.Rollback(std::min(count, matched));
    if (left < state.began_at) {
      state.began_at = -1;
    }
  }
  state.num_accepted = left;
}

bool ConstraintState::ended() const {
  return !waiting() && impl_->matcher.IsTerminated();
}

bool ConstraintState::may_end() const {
  return !waiting() && (impl_->matcher.IsTerminated() || impl_->matcher.IsCompleted());
}

int32_t ConstraintState::num_accepted() const {
  return impl_->num_accepted;
}

}  // namespace deepinfer::constraint
