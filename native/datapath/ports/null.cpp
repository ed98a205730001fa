// null: transmitted packets vanish, and packets of unknown content come in as fast as they are taken. No loop can be faster
// than with this port.
#include "datapath/ports/eth.hpp"

namespace dpubench::datapath {
namespace {

class Null final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "null",
        .summary = "no link: sent packets vanish, and none come in unless `receives` is yes",
        .arguments = {{"receives", "empty frames come in as fast as they are taken (yes, no)", "no"},
                      {"frame", "bytes of such a frame, without FCS", "60"}},
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override { return net_driver_missing("null"); }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const bool receives = flag_argument(info(), spec, "receives");
    const std::uint32_t frame = number_argument(info(), spec, "frame", 60, resources.max_frame);
    EthOptions options;
    options.info = {.kind = "null",
                    .driver = "net_null",
                    .detail = receives ? "receives frames of " + std::to_string(frame) + " B" : "receives nothing"};
    options.ignores_mtu = true;
    auto device =
        std::make_unique<VirtualDevice>("net_null", "size=" + std::to_string(frame) + ",copy=0,no-rx=" + (receives ? "0" : "1"));
    const std::string name = device->name();
    return std::make_unique<EthPort>(std::move(device), name, resources, std::move(options));
  }
};

DPUBENCH_PORT(Null);

}  // namespace
}  // namespace dpubench::datapath
