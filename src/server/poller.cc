#include "server/poller.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/log.h"

namespace deepinfer::server {
namespace {

// Keys of the epoll set: 0 wakes the thread, then the listeners, then connections.
constexpr uint64_t kWakeupKey = 0;
constexpr uint64_t kFirstListenerKey = 1;
constexpr int kMaxEvents = 256;
constexpr int kAcceptsPerEvent = 64;
constexpr std::chrono::milliseconds kAcceptPause{10};
constexpr std::chrono::seconds kReportInterval{10};

PeerAddress peer_address(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    return {text.data(), ntohs(v4->sin_port)};
  }
  if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    return {text.data(), ntohs(v6->sin6_port)};
  }
  return {};
}

bool add_to_epoll(int epoll_fd, int fd, uint32_t events, uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Poller::Poller(std::vector<base::UniqueFd> listeners, const PollerLimits& limits,
               OnRequest on_request)
    : limits_(limits),
      on_request_(std::move(on_request)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      listeners_(std::move(listeners)),
      next_id_(kFirstListenerKey + listeners_.size()) {
  DI_CHECK(epoll_.valid() && wakeup_.valid());
  DI_CHECK(add_to_epoll(epoll_.get(), wakeup_.get(), EPOLLIN, kWakeupKey));
  resume_accepting();
}

Poller::~Poller() {
  stop();
}

void Poller::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
}

void Poller::start() {
  thread_ = base::NamedThread("di-poll", [this] { run(); });
}

void Poller::wake() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the thread is awake anyway.
  [[maybe_unused]] const ssize_t written = ::write(wakeup_.get(), &one, sizeof(one));
}

void Poller::release(Connection& connection, bool keep) {
  {
    const std::lock_guard lock(mutex_);
    returned_.push_back({connection.id(), keep});
  }
  wake();
}

void Poller::stop_accepting() {
  if (!thread_.joinable()) {
    return;
  }
  std::unique_lock lock(mutex_);
  stop_accepting_ = true;
  wake();
  stopped_.wait(lock, [this] { return accepting_stopped_; });
}

void Poller::shutdown_connections() {
  {
    const std::lock_guard lock(mutex_);
    shutdown_connections_ = true;
  }
  wake();
}

void Poller::run() {
  std::array<epoll_event, kMaxEvents> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), kMaxEvents, wait_ms());
    for (int i = 0; i < count; ++i) {
      handle(events[static_cast<size_t>(i)]);
    }
    expire(heads_);
    expire(idle_);
    if (accept_again_ && *accept_again_ <= base::steady_now()) {
      resume_accepting();
    }
    if (stopping()) {
      handle_wakeup();
      return;
    }
  }
}

bool Poller::stopping() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

// Time to the next deadline; -1 when there is none.
int Poller::wait_ms() const {
  std::optional<base::TimePoint> next = accept_again_;
  for (const WaitList* list : {&heads_, &idle_}) {
    if (!list->empty()) {
      const base::TimePoint deadline = entries_.at(list->front()).deadline;
      next = next ? std::min(*next, deadline) : deadline;
    }
  }
  if (!next) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - base::steady_now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

void Poller::handle(const epoll_event& event) {
  const uint64_t key = event.data.u64;
  if (key == kWakeupKey) {
    handle_wakeup();
    return;
  }
  if (key - kFirstListenerKey < listeners_.size()) {
    if (accepting_) {
      accept_from(listeners_[key - kFirstListenerKey].get());
    }
    return;
  }
  // A connection that was removed earlier in this batch is not found: ids are never reused.
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return;
  }
  Entry& entry = found->second;
  if (entry.state == State::kActive) {
    entry.connection->set_gone();
  } else {
    on_readable(entry);
  }
}

void Poller::handle_wakeup() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wakeup_.get(), &count, sizeof(count));
  std::vector<Returned> returned;
  bool close_all = false;
  bool shutdown_all = false;
  {
    const std::lock_guard lock(mutex_);
    returned.swap(returned_);
    close_all = stop_accepting_;
    shutdown_all = shutdown_connections_;
  }
  if (close_all) {
    close_listeners();
    const std::lock_guard lock(mutex_);
    accepting_stopped_ = true;
    stopped_.notify_all();
  }
  for (const Returned& item : returned) {
    Entry& entry = entries_.at(item.id);
    if (item.keep && accepting_) {
      park(entry, entry.connection->input().empty() ? State::kIdle : State::kHead);
    } else {
      remove(item.id);
    }
  }
  if (shutdown_all) {
    for (auto& [id, entry] : entries_) {
      entry.connection->shutdown_socket();
    }
  }
}

void Poller::accept_from(int listener_fd) {
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    const bool full = entries_.size() >= limits_.max_connections;
    if (full && heads_.empty() && idle_.empty()) {
      pause_accepting();
      return;
    }
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    base::UniqueFd socket(::accept4(listener_fd, reinterpret_cast<sockaddr*>(&address), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      const bool harmless = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!harmless) {
        report_accept_failure(errno);
        pause_accepting();
      }
      return;
    }
    if (full) {
      make_room();
    }
    add(std::move(socket), peer_address(address));
  }
}

// Closes the connection that has been silent for longest; there must be one.
void Poller::make_room() {
  remove(idle_.empty() ? heads_.front() : idle_.front());
}

void Poller::add(base::UniqueFd socket, PeerAddress peer) {
  const uint64_t id = next_id_++;
  if (!add_to_epoll(epoll_.get(), socket.get(), 0, id)) {
    DI_LOG_ERROR("a connection was dropped: {}", std::strerror(errno));
    return;
  }
  Entry& entry = entries_[id];
  entry.connection = std::make_unique<Connection>(id, std::move(socket), std::move(peer));
  park(entry, State::kHead);
}

void Poller::on_readable(Entry& entry) {
  Connection& connection = *entry.connection;
  std::string& input = connection.input();
  const Connection::Read result = connection.read(input, limits_.head.head_bytes);
  if (result == Connection::Read::kClosed) {
    remove(connection.id());
    return;
  }
  drop_leading_empty_lines(input);
  if (!input.empty() && head_is_decided(input, limits_.head)) {
    activate(entry);
  } else if (entry.state == State::kIdle && !input.empty()) {
    park(entry, State::kHead);
  } else {
    arm(entry, EPOLLIN | EPOLLRDHUP);
  }
}

void Poller::park(Entry& entry, State state) {
  unlist(entry);
  entry.connection->trim_input();
  WaitList& list = state == State::kHead ? heads_ : idle_;
  entry.state = state;
  entry.deadline = base::steady_now() +
                   (state == State::kHead ? limits_.head_timeout : limits_.keep_alive_timeout);
  entry.place = list.insert(list.end(), entry.connection->id());
  arm(entry, EPOLLIN | EPOLLRDHUP);
}

void Poller::activate(Entry& entry) {
  unlist(entry);
  entry.state = State::kActive;
  arm(entry, EPOLLRDHUP);
  on_request_(*entry.connection);
}

void Poller::unlist(Entry& entry) {
  if (entry.state == State::kHead) {
    heads_.erase(entry.place);
  } else if (entry.state == State::kIdle) {
    idle_.erase(entry.place);
  }
}

void Poller::remove(uint64_t id) {
  const auto found = entries_.find(id);
  DI_CHECK(found != entries_.end());
  unlist(found->second);
  entries_.erase(found);
}

void Poller::arm(const Entry& entry, uint32_t events) {
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.u64 = entry.connection->id();
  DI_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, entry.connection->fd(), &event) == 0);
}

void Poller::expire(WaitList& list) {
  const base::TimePoint now = base::steady_now();
  while (!list.empty()) {
    Entry& entry = entries_.at(list.front());
    if (entry.deadline > now) {
      return;
    }
    // Half a head gets its 408 from a worker; silence is closed silently.
    entry.connection->input().empty() ? remove(list.front()) : activate(entry);
  }
}

// Out of descriptors, every try fails: one line a while tells as much as a hundred a second.
void Poller::report_accept_failure(int error) {
  const base::TimePoint now = base::steady_now();
  if (!accept_reported_ || now - *accept_reported_ >= kReportInterval) {
    DI_LOG_ERROR("accept failed, trying again: {}", std::strerror(error));
    accept_reported_ = now;
  }
}

void Poller::pause_accepting() {
  for (const base::UniqueFd& listener : listeners_) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
  }
  accept_again_ = base::steady_now() + kAcceptPause;
}

void Poller::resume_accepting() {
  accept_again_.reset();
  for (size_t i = 0; i < listeners_.size(); ++i) {
    DI_CHECK(add_to_epoll(epoll_.get(), listeners_[i].get(), EPOLLIN, kFirstListenerKey + i));
  }
}

void Poller::close_listeners() {
  accepting_ = false;
  accept_again_.reset();
  for (base::UniqueFd& listener : listeners_) {
    listener.reset(-1);
  }
  for (WaitList* list : {&heads_, &idle_}) {
    while (!list->empty()) {
      remove(list->front());
    }
  }
}

}  // namespace deepinfer::server
