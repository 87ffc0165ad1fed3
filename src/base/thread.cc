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

// CPUs that the cgroup (v2) quota is worth, rounded up; 0 if there is no quota.
int cgroup_cpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) {
    return 0;
  }
  return static_cast<int>(std::ceil(std::strtod(quota.c_str(), nullptr) / period));
}

}  // namespace

void set_thread_name(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    cpus = std::max(1, CPU_COUNT(&set));
  }
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
