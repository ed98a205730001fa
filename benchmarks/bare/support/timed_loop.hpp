// The timing of a bare loop: its own, so that the harness (LaneStepper, run_window) is in neither the loop nor the readings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <utility>

#include "operators/engine.hpp"

namespace dpubench::bare {

/// What a stretch of a bare loop did.
struct Stretch {
  std::uint64_t bursts = 0;
  double elapsed_ns = 0;
};

/// One thread's loop over library calls, with its state.
class TimedLoop {
 public:
  TimedLoop() = default;
  TimedLoop(const TimedLoop&) = delete;
  TimedLoop& operator=(const TimedLoop&) = delete;
  virtual ~TimedLoop() = default;
  /// As Lane::attach.
  virtual void attach(std::span<std::byte> /*memory*/) {}
  /// As Lane::settle.
  virtual void settle(Burst& /*burst*/) noexcept {}
  /// Goes round `ring` from its first burst until `least_ns` have passed. Reads the clock every `bursts_per_reading` bursts.
  virtual Stretch run(std::span<Burst> ring, std::uint64_t bursts_per_reading, double least_ns) noexcept = 0;
};

/// A session that can be timed without a lane. Its lanes serve verification. Visible, since the program that times it was
/// linked apart from the module that makes it.
class [[gnu::visibility("default")]] TimedSession : public Session {
 public:
  /// Opens one thread's loop, called on that thread, untimed. @throws Error
  [[nodiscard]] virtual std::unique_ptr<TimedLoop> loop() = 0;
};

namespace detail {

inline double now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// What TimedLoop::run does with `kernel`.
template <class Kernel>
Stretch go_round(Kernel& kernel, std::span<Burst> ring, std::uint64_t bursts_per_reading, double least_ns) noexcept {
  Stretch stretch;
  std::size_t next = 0;
  const double start_ns = now_ns();
  do {
    for (std::uint64_t left = bursts_per_reading; left != 0; --left) {
      kernel(ring[next]);
      asm volatile("" : : : "memory");  // every burst's output counts as read
      if (++next == ring.size()) next = 0;
    }
    stretch.bursts += bursts_per_reading;
    stretch.elapsed_ns = now_ns() - start_ns;
  } while (stretch.elapsed_ns < least_ns);
  return stretch;
}

template <class Kernel>
class KernelLoop final : public TimedLoop {
 public:
  explicit KernelLoop(Kernel kernel) : kernel_(std::move(kernel)) {}

  Stretch run(std::span<Burst> ring, std::uint64_t bursts_per_reading, double least_ns) noexcept override {
    return go_round(kernel_, ring, bursts_per_reading, least_ns);
  }

 private:
  Kernel kernel_;
};

template <class Make>
class KernelLoopSession final : public TimedSession {
 public:
  KernelLoopSession(Make make, PathInfo path) : make_(std::move(make)), path_(std::move(path)) {}
  std::unique_ptr<Lane> open() override {
    auto kernel = make_();
    return std::make_unique<SyncLane<decltype(kernel)>>(std::move(kernel));
  }
  std::unique_ptr<TimedLoop> loop() override {
    auto kernel = make_();
    return std::make_unique<KernelLoop<decltype(kernel)>>(std::move(kernel));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  Make make_;
  PathInfo path_;
};

}  // namespace detail

/// Makes the session of a bare loop. @param make  returns one thread's kernel, `void operator()(Burst&) noexcept`
template <class Make>
std::unique_ptr<Session> timed_session(Make make, PathInfo path) {
  return std::make_unique<detail::KernelLoopSession<Make>>(std::move(make), std::move(path));
}

}  // namespace dpubench::bare
