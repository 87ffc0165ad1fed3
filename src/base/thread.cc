#include "base/thread.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <utility>

namespace deepinfer::base {
namespace {

// CPUs that the cgroup quota is worth, rounded up; 0 if there is no quota.
int cgroup_cpus() {
  double quota = 0;
  double period = 0;
  std::ifstream v2("/sys/fs/cgroup/cpu.max");  // "max" is no number
  if (!(v2 >> quota >> period)) {
    std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");  // -1 without a limit
    std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    v1_quota >> quota;
    v1_period >> period;
  }
  return quota > 0 && period > 0 ? static_cast<int>(std::ceil(quota / period)) : 0;
}

// CPUs of the affinity mask.
int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  // The mask of a machine with more than 1024 CPUs does not fit.
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

void set_thread_name(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

int usable_cpus() {
  const int cpus = allowed_cpus();
  const int quota = cgroup_cpus();
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

NamedThread::NamedThread(std::string name, std::function<void()> body)
    : thread_([name = std::move(name), body = std::move(body)] {
        set_thread_name(name);
        try {
          body();
        } catch (const std::exception& error) {
          std::fprintf(stderr, "thread %s: uncaught exception: %s\n", name.c_str(), error.what());
          std::abort();
        }
      }) {}

NamedThread& NamedThread::operator=(NamedThread&& other) noexcept {
  join();
  thread_ = std::move(other.thread_);
  return *this;
}

NamedThread::~NamedThread() {
  join();
}

void NamedThread::join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace deepinfer::base
