#include "process/engine_process.h"

#include <spawn.h>
#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/clock.h"

namespace deepinfer::process {
namespace {

using std::chrono::milliseconds;

// How often a child that should end is looked at: nothing else waits meanwhile.
constexpr milliseconds kReapInterval{2};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("ended by signal {} ({})", signal, ::strsignal(signal));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

Result<EngineProcess> EngineProcess::spawn(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return unavailable(fmt::format("no socket for the engine: {}", std::strerror(errno)));
  }
  base::UniqueFd ours(ends[0]);
  const base::UniqueFd theirs(ends[1]);

  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    // posix_spawn only reads them.
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kEngineSocket);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kEngineSocket + 1);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return unavailable(fmt::format("cannot start the engine process {}: {}", command.front(),
                                   std::strerror(error)));
  }
  return EngineProcess(pid, std::move(ours));
}

EngineProcess::~EngineProcess() {
  if (!reaped_ && socket_.valid()) {
    reap(milliseconds(0));
  }
}

std::string EngineProcess::reap(milliseconds patience) {
  const auto give_up = base::steady_now() + patience;
  bool killed = false;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, killed ? 0 : WNOHANG);
    if (ended == pid_) {
      reaped_ = true;
      return killed ? "was killed" : how_it_ended(status);
    }
    if (ended < 0 && errno != EINTR) {
      reaped_ = true;
      return fmt::format("is lost: {}", std::strerror(errno));
    }
    if (base::steady_now() >= give_up) {
      ::kill(pid_, SIGKILL);
      killed = true;
    } else {
      std::this_thread::sleep_for(kReapInterval);
    }
  }
}

void die_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace deepinfer::process
