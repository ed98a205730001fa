// memif: a shared-memory link between two processes. The client makes the memory and copies into and out of it. The server maps
// it. https://s3-docs.fd.io/vpp/22.10/developer/corefeatures/memif.html, DPDK's guide to net_memif.
#include <bit>
#include <csetjmp>
#include <csignal>
#include <filesystem>

#include "base/error.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/unix_socket.hpp"

namespace dpubench::datapath {
namespace {

thread_local sigjmp_buf* way_out = nullptr;  ///< way out of the driver's call that this thread is in

/// End the driver's call if there is one. Otherwise the fault is the program's own and takes its course.
void on_fault(int number, siginfo_t* /*info*/, void* /*context*/) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  signal(number, SIG_DFL);
}

void catch_faults() {
  static const bool caught = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;  // a jump leaves the handler
    return sigaction(SIGSEGV, &action, nullptr) == 0 && sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  if (!caught) throw Error("port memif: sigaction failed");
}

/// Make a call to the driver. A fault inside the driver ends the call, not the program. When the other side leaves, the driver
/// unmaps the link's memory in the EAL's interrupt thread, even while a loop reads it (net_memif, DPDK 22.11: memif_disconnect
/// takes no lock). @param broken  result of a call that a fault ended
template <class Call>
std::uint16_t guarded(std::uint16_t broken, Call call) noexcept {
  const volatile std::uint16_t come_to = broken;  // in memory, whatever the driver did to registers
  sigjmp_buf out;
  // No object between here and the driver has a destructor.
  if (sigsetjmp(out, 0) != 0) {
    way_out = nullptr;
    return come_to;
  }
  way_out = &out;
  const std::uint16_t done = call();
  way_out = nullptr;
  return done;
}

/// A memif port. It removes the socket after the driver is done with it.
class MemifPort final : public EthPort {
 public:
  std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept override {
    return guarded(0, [&] { return EthPort::receive(queue, packets, n); });
  }
  /// Transmit packets. If the other side leaves meanwhile, nobody can tell which packets the driver has taken. Then none comes
  /// back, so that none is freed twice.
  std::uint16_t transmit(std::uint16_t queue, rte_mbuf* const* packets, std::uint16_t n) noexcept override {
    return guarded(n, [&] { return EthPort::transmit(queue, packets, n); });
  }

  MemifPort(std::unique_ptr<SocketFile> file, std::unique_ptr<VirtualDevice> device, const std::string& name,
            const PortResources& resources, EthOptions options)
      : EthPort(std::move(device), name, resources, std::move(options)), file_(std::move(file)) {
    catch_faults();
  }

 private:
  std::unique_ptr<SocketFile> file_;
};

class Memif final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "memif",
        .summary = "shared memory between two processes: the server listens at a socket, the client makes the memory",
        .arguments =
            {{"socket", "path of the socket, the same on both sides", "", true},
             {"ring", "descriptors of each ring, a power of two", "1024"},
             {"zero_copy",
              "the server reads and writes the client's buffers without a copy (yes, no). Only for the client; its driver "
              "keeps the buffers of the ring when it closes",
              "no"},
             {"secret",
              "text that must be the same on both sides. By default it holds the number of queues and the size of buffers: sides "
              "that differ in them would mix up their rings and, with DPDK later than 22.11, write past their buffers. Empty: no "
              "secret, for programs that have none",
              "link"}},
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override { return net_driver_missing("memif"); }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string path = argument(info(), spec, "socket");
    const std::uint32_t ring = number_argument(info(), spec, "ring", 2, 1U << 14);
    if (!std::has_single_bit(ring)) throw Error("port memif: ring=" + std::to_string(ring) + ": must be a power of two");
    const bool zero_copy = flag_argument(info(), spec, "zero_copy");
    const bool is_server = spec.role == Role::kServer;
    if (zero_copy && is_server) throw Error("port memif: zero_copy is only for the client: remove it from the server");

    std::unique_ptr<SocketFile> file;
    if (is_server) {
      claim_socket("memif", path);
      file = std::make_unique<SocketFile>(path);
    } else {
      wait_for_server("memif", path);
    }
    const std::uint32_t log2_ring = static_cast<std::uint32_t>(std::countr_zero(ring));
    // One buffer holds a frame: a chain of buffers costs a descriptor each. The buffer is as large as a pool's. Drivers later
    // than the one of DPDK 22.11, which has one way for all, receive in a shorter way if the link's buffers are not larger
    // (net_memif: eth_memif_rx).
    const std::uint32_t buffer = frame_room(resources.max_frame);
    std::string arguments = std::string("role=") + (is_server ? "server" : "client") + ",id=0,socket=" + path +
                            ",socket-abstract=no,bsize=" + std::to_string(buffer) + ",rsize=" + std::to_string(log2_ring);
    std::string secret = argument(info(), spec, "secret");
    if (secret == "link") secret = "dpubench-" + std::to_string(resources.queues) + "-" + std::to_string(buffer);
    if (!secret.empty()) arguments += ",secret=" + secret;
    if (zero_copy) arguments += ",zero-copy=yes";

    EthOptions options;
    options.info = {.kind = "memif",
                    .driver = "net_memif",
                    .detail = std::string(is_server ? "server" : "client") + ", rings of " + std::to_string(ring) +
                              ", buffers of " + std::to_string(buffer) + " B" + (zero_copy ? ", zero copy" : ""),
                    .is_virtual = true,
                    .shares_buffers = zero_copy};
    options.descriptors = static_cast<std::uint16_t>(ring);
    options.queue_packets = ring;
    options.ignores_mtu = true;
    options.closes_among_handlers = true;
    auto device = std::make_unique<VirtualDevice>("net_memif", arguments);
    const std::string name = device->name();
    return std::make_unique<MemifPort>(std::move(file), std::move(device), name, resources, std::move(options));
  }
};

DPUBENCH_PORT(Memif);

}  // namespace
}  // namespace dpubench::datapath
