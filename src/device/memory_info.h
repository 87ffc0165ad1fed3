#pragma once

/// How much memory this process may still take.

#include <cstdint>
#include <string>

namespace deepinfer::device {

/// The smaller of what the system has (`MemAvailable` of `proc_root`/meminfo) and what the
/// cgroup (v2 or v1 under `cgroup_root`) leaves, not counting page cache it can drop. 0 if the
/// system says nothing.
int64_t available_memory_bytes(const std::string& proc_root = "/proc",
                               const std::string& cgroup_root = "/sys/fs/cgroup");

}  // namespace deepinfer::device
