// af_packet: frames of a kernel interface through rings that the kernel shares (packet(7), PACKET_RX_RING). It loses most of
// the frames that it cannot take without counting them anywhere.
#include <rte_mbuf.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/kernel_interface.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::uint32_t kFrames = 1024;
/// Bytes that the kernel puts before a frame in its slot of the ring: tpacket2_hdr, sockaddr_ll, alignment.
constexpr std::uint32_t kSlotHeader = 80;

class AfPacket final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "af_packet",
        .summary = "a kernel interface through memory-mapped packet sockets",
        .arguments = {{"interface", "kernel interface that is up, such as one end of a veth pair", "", true}},
        .needs_root = true,
        .kernel_receives = true,
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override {
    if (Reason reason = net_driver_missing("af_packet"); !reason.reason.empty()) return reason;
    if (Reason reason = capability_missing(kCapNetRaw, "CAP_NET_RAW"); !reason.reason.empty()) return reason;
    return family_missing(AF_PACKET, "AF_PACKET", "CONFIG_PACKET");
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string interface = argument(info(), spec, "interface");
    require_interface("af_packet", interface, resources.max_frame);
    // A slot is copied whole into one buffer, so it is no larger than the buffer. Blocks hold a whole number of slots and of
    // pages, because the driver takes them for one array.
    const std::uint32_t room = rte_pktmbuf_data_room_size(resources.pool) - RTE_PKTMBUF_HEADROOM;
    const std::uint32_t slot = room / 1024 * 1024;
    if (slot < resources.max_frame + kSlotHeader) {
      throw Error("port af_packet: frames of " + std::to_string(resources.max_frame) + " bytes do not fit buffers of " +
                  std::to_string(room) + " with the kernel's header");
    }
    const std::uint32_t block = slot * std::max(1U, static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)) / 1024);
    const std::string arguments = "iface=" + interface + ",qpairs=" + std::to_string(resources.queues) +
                                  ",blocksz=" + std::to_string(block) + ",framesz=" + std::to_string(slot) +
                                  ",framecnt=" + std::to_string(kFrames);
    EthOptions options;
    options.info = {.kind = "af_packet",
                    .driver = "net_af_packet",
                    .detail = interface + ", rings of " + std::to_string(kFrames) + " frames of " + std::to_string(slot) + " B",
                    .is_virtual = true,
                    .shares_buffers = false,
                    .interface = interface};
    options.queue_packets = kFrames;
    options.ignores_mtu = true;
    auto device = std::make_unique<VirtualDevice>("net_af_packet", arguments);
    const std::string name = device->name();
    return std::make_unique<EthPort>(std::move(device), name, resources, std::move(options));
  }
};

DPUBENCH_PORT(AfPacket);

}  // namespace
}  // namespace dpubench::datapath
