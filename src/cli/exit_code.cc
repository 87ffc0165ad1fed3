#include "cli/exit_code.h"

namespace deepinfer::cli {

int exit_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
      return kExitUsage;
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
      return kExitModel;
    case StatusCode::kResourceExhausted:
      return kExitDevice;
    default:
      return kExitFailure;
  }
}

}  // namespace deepinfer::cli
