#pragma once

/// A request that is answered with an error before it reaches a handler.

#include <string>
#include <utility>

#include "deepinfer/status.h"

namespace deepinfer::server {

struct Refusal {
  int http_status = 400;
  Status status;
  /// Value of the `Allow` header of a 405; empty otherwise.
  std::string allow;
};

inline Refusal refuse(int http_status, std::string message) {
  return {http_status, invalid_argument(std::move(message)), {}};
}

}  // namespace deepinfer::server
