// vhost: the link between a host and a virtual machine (vhost-user). The server is the host's side and copies. The client is
// the guest's driver, in this process (virtio-user), and the server maps its memory. Virtual I/O Device (VIRTIO) 1.1, 2.7.
#include "base/error.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/unix_socket.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::uint16_t kRing = 1024;

class VhostPort final : public EthPort {
 public:
  VhostPort(std::unique_ptr<SocketFile> file, std::unique_ptr<VirtualDevice> device, const std::string& name,
            const PortResources& resources, EthOptions options)
      : EthPort(std::move(device), name, resources, std::move(options)), file_(std::move(file)) {}

 private:
  std::unique_ptr<SocketFile> file_;
};

class Vhost final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "vhost",
        .summary = "the link between a host (server, vhost-user) and a virtual machine's driver (client, virtio-user)",
        .arguments = {{"socket", "path of the socket, the same on both sides", "", true}},
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override {
    Reason reason = net_driver_missing("vhost");
    return reason.reason.empty() ? net_driver_missing("virtio") : reason;
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string path = argument(info(), spec, "socket");
    EthOptions options;
    options.descriptors = kRing;
    options.queue_packets = kRing;
    options.ignores_mtu = true;
    std::unique_ptr<SocketFile> file;
    std::string arguments;
    if (spec.role == Role::kServer) {
      claim_socket("vhost", path);
      file = std::make_unique<SocketFile>(path);
      arguments = "iface=" + path + ",client=0,queues=" + std::to_string(resources.queues);
      options.info = {.kind = "vhost", .driver = "net_vhost", .detail = "host's side"};
    } else {
      wait_for_server("vhost", path);
      arguments = "path=" + path + ",mrg_rxbuf=1,in_order=1,packed_vq=1,queue_size=" + std::to_string(kRing) +
                  ",queues=" + std::to_string(resources.queues);
      options.info = {.kind = "vhost", .driver = "net_virtio_user", .detail = "guest's side, packed rings, in order"};
    }
    auto device = std::make_unique<VirtualDevice>(options.info.driver, arguments);
    const std::string name = device->name();
    return std::make_unique<VhostPort>(std::move(file), std::move(device), name, resources, std::move(options));
  }
};

DPUBENCH_PORT(Vhost);

}  // namespace
}  // namespace dpubench::datapath
