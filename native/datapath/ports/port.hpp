// A port: where packets come in and go out. One file per kind in ports/, each registered with DPUBENCH_PORT.
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

namespace dpubench::datapath {

/// Packets of one receive or transmit burst, at most.
inline constexpr std::uint16_t kMaxPacketBurst = 256;

enum class Role : std::uint8_t { kServer, kClient };

/// What a job says of a port.
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
  bool is_virtual = true;       ///< a software link: never set beside line rates
  bool shares_buffers = false;  ///< what is transmitted reaches the other side uncopied, which may then write to it
  bool needs_root = false;
  bool kernel_receives = false;    ///< the kernel works on what arrives before a loop can take it
  bool answers_elsewhere = false;  ///< its packets never come to a loop: an engine that names this kind answers them
};

/// What became of an open port.
struct PortInfo {
  std::string kind;
  std::string driver;  ///< "net_memif"; "kernel UDP socket"
  std::string detail;  ///< arguments that matter: ring size, zero copy, queue, interface
  bool is_virtual = true;
  bool shares_buffers = false;
  std::string interface = {};      ///< of the kernel, where the port is one; else empty
  std::uint32_t mtu_frame = 1518;  ///< largest frame with FCS
};

/// One open port with as many queues as loops. Queue i is used by one thread at a time. No call waits.
class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  [[nodiscard]] virtual const PortInfo& info() const = 0;
  /// Up to `n` packets, which become the caller's.
  virtual std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept = 0;
  /// Takes the first packets, as many as it has room for; they are the port's from then on. The others stay the caller's.
  virtual std::uint16_t transmit(std::uint16_t queue, rte_mbuf* const* packets, std::uint16_t n) noexcept = 0;
  /// Whether packets can pass now (the peer is there, the link is up).
  [[nodiscard]] virtual bool is_up() const noexcept = 0;
  /// The driver's own counters, by its names. Software drivers lose packets that none of them tells: never an account.
  [[nodiscard]] virtual std::map<std::string, std::uint64_t> counters() const = 0;
  /// Packets that the queues towards this port hold at most, for telling losses in a gap; 0: not known.
  [[nodiscard]] virtual std::uint32_t queue_packets() const noexcept { return 0; }
};

struct PortResources {
  rte_mempool* pool = nullptr;  ///< where received packets lie
  std::uint16_t queues = 1;
  std::uint32_t max_frame = 1518;  ///< with FCS
};

class PortKind {
 public:
  virtual ~PortKind() = default;
  [[nodiscard]] virtual const PortKindInfo& info() const = 0;
  /// Why it cannot run on this machine (no driver, no right, no kernel support), and what helps; empty if it can. Cheap:
  /// initialises nothing.
  struct Reason {
    std::string reason;
    std::string remedy;
  };
  [[nodiscard]] virtual Reason unavailable() const { return {}; }
  /// Opens a port, after the EAL was started. @throws Error naming kind, argument, fault and remedy (port in use, stale socket,
  /// no such interface)
  [[nodiscard]] virtual std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const = 0;
};

/// Every kind linked in, by name.
std::span<const PortKind* const> port_kinds();
/// @throws Error with the nearest name, or naming an argument that the kind does not have or lacks
std::unique_ptr<Port> open_port(const PortSpec& spec, const PortResources& resources);
/// PortKindInfo::kernel_receives of the kind of this name; false where there is none.
bool kernel_receives(std::string_view kind);
/// PCI devices among ports, which the EAL must be started with.
std::vector<std::string> port_devices(std::span<const PortSpec> ports);
/// For the catalog: name, summary, arguments, available, reason, remedy, is_virtual of each kind.
nlohmann::json port_catalog();

namespace detail {
struct PortRegistrar {
  explicit PortRegistrar(const PortKind& kind);
};
}  // namespace detail

}  // namespace dpubench::datapath

/// Registers `Type` (a PortKind, default-constructible). Once, at namespace scope of the kind's file.
#define DPUBENCH_PORT(Type)               \
  static const Type dpubench_port_kind{}; \
  static const ::dpubench::datapath::detail::PortRegistrar dpubench_port_registrar(dpubench_port_kind)
