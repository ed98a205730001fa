// A port: the place where packets come in and go out. Each kind has a file in ports/ and registers with DPUBENCH_PORT.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/burst.hpp"

namespace dpubench::datapath {

/// Most packets of one receive or transmit burst.
inline constexpr std::uint16_t kMaxPacketBurst = kMaxBurst;

enum class Role : std::uint8_t { kServer, kClient };

/// The settings of a port.
struct PortSpec {
  std::string kind;  ///< "memif", "vhost", "af_packet", "af_xdp", "ring", "pcap", "null", "pci", "socket", "tap"
  Role role = Role::kServer;
  std::map<std::string, std::string, std::less<>> arguments;
};

struct PortArgument {
  std::string name;
  std::string summary;
  std::string default_value;
  bool required = false;
};

struct PortKindInfo {
  std::string name;
  std::string summary;
  std::vector<PortArgument> arguments;
  bool is_virtual = true;       ///< a software link: its rates are never set beside line rates
  bool shares_buffers = false;  ///< packets reach the other side uncopied, which may then write to them
  bool needs_root = false;
  bool kernel_receives = false;    ///< the kernel works on packets that arrive before a loop can take them
  bool answers_elsewhere = false;  ///< its packets never come to a loop: an engine that names this kind answers them
};

/// The properties of an open port.
struct PortInfo {
  std::string kind;
  std::string driver;  ///< "net_memif"; "kernel UDP socket"
  std::string detail;  ///< arguments that matter: ring size, zero copy, queue, interface
  bool is_virtual = true;
  bool shares_buffers = false;
  std::string interface = {};      ///< the kernel's interface if the port is one; else empty
  std::uint32_t mtu_frame = 1518;  ///< largest frame with FCS
};

/// An open port with as many queues as loops. One thread at a time uses queue i. No call waits.
class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  [[nodiscard]] virtual const PortInfo& info() const = 0;
  /// Receive up to `n` packets, which become the caller's. Return how many.
  virtual std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept = 0;
  /// Take the first packets, as many as there is room for, and return how many. These belong to the port from then on; the
  /// others stay the caller's.
  virtual std::uint16_t transmit(std::uint16_t queue, rte_mbuf* const* packets, std::uint16_t n) noexcept = 0;
  /// Return whether packets can pass now (the peer is there, the link is up).
  [[nodiscard]] virtual bool is_up() const noexcept = 0;
  /// Return the driver's own counters, by its names. They are never an account: software drivers lose packets that no counter
  /// shows.
  [[nodiscard]] virtual std::map<std::string, std::uint64_t> counters() const = 0;
  /// Return the most packets that the queues towards this port hold, for telling losses in a gap; 0: not known.
  [[nodiscard]] virtual std::uint32_t queue_packets() const noexcept { return 0; }
};

struct PortResources {
  rte_mempool* pool = nullptr;  ///< pool for received packets
  std::uint16_t queues = 1;
  std::uint32_t max_frame = 1518;  ///< with FCS
};

class PortKind {
 public:
  virtual ~PortKind() = default;
  [[nodiscard]] virtual const PortKindInfo& info() const = 0;
  /// The reason why a kind cannot run on this machine (no driver, no right, no kernel support), and the remedy; empty if it
  /// can. It is cheap to find: nothing is initialised.
  struct Reason {
    std::string reason;
    std::string remedy;
  };
  [[nodiscard]] virtual Reason unavailable() const { return {}; }
  /// Open a port. Start the EAL first. @throws Error that names kind, argument, fault and remedy (port in use, stale socket, no
  /// such interface)
  [[nodiscard]] virtual std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const = 0;
};

/// Return every kind linked in, by name.
std::span<const PortKind* const> port_kinds();
/// Open a port. @throws Error with the nearest name, or naming an argument that the kind does not have or lacks
std::unique_ptr<Port> open_port(const PortSpec& spec, const PortResources& resources);
/// Return PortKindInfo::kernel_receives of the kind of this name; false when there is none.
bool kernel_receives(std::string_view kind);
/// Return the PCI devices among ports, which the EAL must be started with.
std::vector<std::string> port_devices(std::span<const PortSpec> ports);
/// Return the catalog: name, summary, arguments, available, reason, remedy, is_virtual, shares_buffers, needs_root of each kind.
nlohmann::json port_catalog();

namespace detail {
struct PortRegistrar {
  explicit PortRegistrar(const PortKind& kind);
};
}  // namespace detail

}  // namespace dpubench::datapath

/// Register `Type` (a PortKind, default-constructible). Use this once, at namespace scope of the kind's file.
#define DPUBENCH_PORT(Type)                 \
  static const Type dpubench_port_##Type{}; \
  static const ::dpubench::datapath::detail::PortRegistrar dpubench_registrar_##Type(dpubench_port_##Type)
