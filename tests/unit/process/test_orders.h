#pragma once

/// Prompt tokens and model directories that the test engine takes as orders.

#include "deepinfer/request.h"

namespace deepinfer::process::testing {

inline constexpr TokenId kOrderDie = 91;       ///< The process ends in the middle of a step.
inline constexpr TokenId kOrderHang = 92;      ///< The step never ends.
inline constexpr TokenId kOrderFailStep = 93;  ///< The executor reports a fault.
inline constexpr TokenId kOrderBeSlow = 94;    ///< Every step takes a millisecond longer.

inline constexpr const char* kModelMissing = "missing";           ///< Cannot be opened.
inline constexpr const char* kModelDiesLoading = "dies-loading";  ///< The process ends meanwhile.
inline constexpr const char* kModelTalksTooMuch = "talks-too-much";  ///< Outputs beyond a message.
inline constexpr const char* kModelGood = "good";

}  // namespace deepinfer::process::testing
