#pragma once

/// Threads with names, so that debuggers and `top -H` say who works.

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

namespace deepinfer::base {

/// Names the calling thread (15 characters are kept).
void set_thread_name(const std::string& name);

/// CPUs the calling process may run on (cgroup quota and affinity considered); at least 1.
int usable_cpus();

/// A thread that is joined on destruction. An exception that leaves `body` is a bug and ends
/// the process with its text.
class NamedThread {
 public:
  NamedThread() = default;
  NamedThread(std::string name, std::function<void()> body);
  NamedThread(NamedThread&&) noexcept = default;
  NamedThread& operator=(NamedThread&& other) noexcept;
  ~NamedThread();

  bool joinable() const { return thread_.joinable(); }
  void join();

 private:
  std::thread thread_;
};

}  // namespace deepinfer::base
