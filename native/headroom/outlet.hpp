// The way out of one sending thread's packets, and the way in of a sink's. Each back-end has a file: ports of DPDK (port.cpp) and
// sockets of the kernel (udp.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "headroom/job.hpp"
#include "headroom/packet.hpp"

namespace dpubench::headroom {

/// The way out of one thread. One thread at a time uses it. Below prepare() nothing allocates, locks or waits.
class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  /// Get ready for a trial, untimed: the packets' size, burst and reuse. Call it on the thread that will send.
  /// @throws Error when the way does not take packets of this size
  virtual void prepare(const TrialSpec& spec) = 0;
  /// Build packets up to `n` that wait, hand them over, and return how many the device took. Fewer than `n`: it has no room now,
  /// and the rest waits for the next call.
  virtual std::uint32_t send(std::uint32_t n) noexcept = 0;
  /// Drop what waits, after a trial. @return why the trial is no trial (a fault of a system call), or an empty text
  virtual std::string finish() = 0;
};

/// The way in of a sink.
class Inlet {
 public:
  Inlet() = default;
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;
  virtual ~Inlet() = default;

  /// Take packets that are there and count them. @return how many came, of whatever trial
  virtual std::uint32_t take(Tally& tally, std::uint32_t trial) noexcept = 0;
  /// Return the packets that the kernel dropped for want of room at the sink, as far as it tells.
  [[nodiscard]] virtual std::uint64_t dropped() const noexcept { return 0; }
};

/// What a process sends by, or receives from.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  /// Open the way out of thread `thread`, on that thread. Destroy it before this object. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Outlet> open_outlet(unsigned thread) = 0;
  /// Open the way in, on the thread that will receive. Destroy it before this object. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Inlet> open_inlet() = 0;
  /// Return whether packets can pass now.
  [[nodiscard]] virtual bool is_up() const = 0;
  /// Return the fields of a port in the event `ready`.
  [[nodiscard]] virtual nlohmann::json described() const = 0;
};

/// Open the port of the job. Start the EAL first. @throws Error
std::unique_ptr<Link> open_port_link(const HeadroomJob& job);
/// Open the sockets of the job. @throws Error
std::unique_ptr<Link> open_udp_link(const HeadroomJob& job);

}  // namespace dpubench::headroom
