// memif: a shared-memory link between two processes. The client makes the memory and copies into and out of it; the server maps
// it. https://s3-docs.fd.io/vpp/22.10/developer/corefeatures/memif.html, DPDK's guide to net_memif.
#include <bit>
#include <filesystem>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/unix_socket.hpp"

namespace dpubench::datapath {
namespace {

/// Removes the socket after the driver is done with it.
class MemifPort final : public EthPort {
 public:
  MemifPort(std::unique_ptr<SocketFile> file, std::unique_ptr<VirtualDevice> device, const std::string& name,
            const PortResources& resources, EthOptions options)
      : EthPort(std::move(device), name, resources, std::move(options)), file_(std::move(file)) {}

 private:
  std::unique_ptr<SocketFile> file_;
};

class Memif final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "memif",
        .summary = "shared memory between two processes: the server listens at a socket, the client makes the memory",
        .arguments = {{"socket", "path of the socket, the same on both sides", "", true},
                      {"ring", "descriptors of each ring, a power of two", "1024"},
                      {"zero_copy",
                       "the server reads and writes the client's buffers where they lie (yes, no); of the client. Its driver "
                       "keeps those of the ring when it closes",
                       "no"},
                      {"secret",
                       "what the other side must say too; by default the number of queues, since sides that differ in it would "
                       "mix up their rings. Empty: none, for programs that have none",
                       "queues"}},
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
    if (zero_copy && is_server) throw Error("port memif: zero_copy is of the client, which makes the memory");

    std::unique_ptr<SocketFile> file;
    if (is_server) {
      claim_socket("memif", path);
      file = std::make_unique<SocketFile>(path);
    } else {
      wait_for_server("memif", path);
    }
    const std::uint32_t log2_ring = static_cast<std::uint32_t>(std::countr_zero(ring));
    // One buffer a frame: a chain of them costs a descriptor each.
    constexpr std::uint32_t kRound = 2048;
    const std::uint32_t buffer = (resources.max_frame + kRound - 1) / kRound * kRound;
    std::string arguments = std::string("role=") + (is_server ? "server" : "client") + ",id=0,socket=" + path +
                            ",socket-abstract=no,bsize=" + std::to_string(buffer) + ",rsize=" + std::to_string(log2_ring);
    std::string secret = argument(info(), spec, "secret");
    if (secret == "queues") secret = "dpubench-" + std::to_string(resources.queues);
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
    auto device = std::make_unique<VirtualDevice>("net_memif", arguments);
    const std::string name = device->name();
    return std::make_unique<MemifPort>(std::move(file), std::move(device), name, resources, std::move(options));
  }
};

DPUBENCH_PORT(Memif);

}  // namespace
}  // namespace dpubench::datapath
