#include "base/exit_code.h"

namespace deepinfer::base {

int exit_code_of(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
      return kExitUsage;
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
      return kExitModel;
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
      return kExitDevice;
    default:
      return kExitFailure;
  }
}

}  // namespace deepinfer::base
