#include "server/version.h"

namespace deepinfer::server {

const char* const kVersion = DEEPINFER_VERSION;
const char* const kRevision = DEEPINFER_REVISION;

}  // namespace deepinfer::server
