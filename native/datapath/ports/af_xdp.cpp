// af_xdp: frames of a kernel interface before they reach the kernel's stack, through rings of an AF_XDP socket
// (https://www.kernel.org/doc/html/latest/networking/af_xdp.html). On veth they are always copied.
#include <rte_mempool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/layout.hpp"
#include "datapath/ports/eth.hpp"
#include "datapath/ports/kernel_interface.hpp"

namespace dpubench::datapath {
namespace {

/// A socket that was closed keeps its queue for about a second.
constexpr std::chrono::seconds kQueueFree{4};
constexpr std::uint16_t kRing = 2048;

const char* in_words(XdpMode mode) {
  switch (mode) {
    case XdpMode::kNative:
      return "native mode";
    case XdpMode::kGeneric:
      return "generic mode (the driver has no XDP: slow)";
    case XdpMode::kOther:
      return "offloaded or several programs";
    case XdpMode::kNone:
      break;
  }
  return "mode not known";
}

/// Tell libxdp where the program of AF_XDP sockets is. libxdp reads it from a file at run time. The file lies beside our
/// programs in a bundle, else where its package has put it. A device may lack that package. @returns an empty string if the
/// file is found, else a remedy to add to the driver's message
std::string find_program_of_sockets() {
  constexpr const char* kVariable = "LIBXDP_OBJECT_PATH";
  constexpr const char* kObject = "xsk_def_xdp_prog.o";
  std::error_code ignored;
  const std::filesystem::path beside = layout().folder / "bpf";
  if (getenv(kVariable) == nullptr && std::filesystem::exists(beside / kObject, ignored)) setenv(kVariable, beside.c_str(), 1);
  if (const char* const given = getenv(kVariable); given != nullptr) {
    if (std::filesystem::exists(std::filesystem::path(given) / kObject, ignored)) return {};
    return std::string("; libxdp's ") + kObject + " is not in " + given + " (" + kVariable + ")";
  }
  for (const std::filesystem::path lib : {"/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"}) {
    if (std::filesystem::exists(lib / "bpf" / kObject, ignored)) return {};
    for (std::filesystem::directory_iterator it(lib, ignored), end; !ignored && it != end; it.increment(ignored)) {
      if (std::filesystem::exists(it->path() / "bpf" / kObject, ignored)) return {};
    }
  }
  return std::string("; libxdp's ") + kObject +
         " is not under /usr/lib or /usr/local/lib: install the package libxdp1, or use a bundle, which has it";
}

/// Require that a buffer fits into a page. @throws Error if it is larger: the kernel takes no such buffer
/// (Documentation/networking/af_xdp.rst, "UMEM")
void require_page(const std::string& kind, const PortResources& resources) {
  const auto page = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  const std::uint32_t buffer = rte_mempool_calc_obj_size(resources.pool->elt_size, resources.pool->flags, nullptr);
  if (buffer <= page) return;
  throw Error(port_prefix(kind) + "a buffer for frames of " + std::to_string(resources.max_frame) + " B takes " +
              std::to_string(buffer) + " B with its headers, but AF_XDP allows at most a page (" + std::to_string(page) +
              " B): give smaller frames");
}

/// Require that buffers lie side by side in one piece of memory. The driver takes that for granted, and it tells the kernel of
/// only so much memory. The kernel refuses the other buffers without a word: frames vanish, and a port may grow deaf. @throws
/// Error if they do not
void require_side_by_side(const std::string& kind, rte_mempool* pool) {
  const std::uint64_t buffer = rte_mempool_calc_obj_size(pool->elt_size, pool->flags, nullptr);
  struct Span {
    std::uintptr_t first = ~std::uintptr_t{0};
    std::uintptr_t last = 0;
  } span;
  rte_mempool_obj_iter(
      pool,
      [](rte_mempool*, void* to, void* object, unsigned) {
        auto& found = *static_cast<Span*>(to);
        const auto at = reinterpret_cast<std::uintptr_t>(object);
        found.first = std::min(found.first, at);
        found.last = std::max(found.last, at);
      },
      &span);
  if (pool->nb_mem_chunks == 1 && span.last - span.first + buffer <= pool->populated_size * buffer) return;
  throw Error(port_prefix(kind) + "the " + std::to_string(pool->populated_size) + " buffers of " + std::to_string(buffer) +
              " B lie in " + std::to_string(pool->nb_mem_chunks) + " pieces of memory or " +
              "with gaps between them, but DPDK's driver needs one piece: give the job more memory (memory.mb), or huge pages");
}

/// An af_xdp port. Its info() says how its program is attached.
class AfXdpPort final : public EthPort {
 public:
  AfXdpPort(std::unique_ptr<VirtualDevice> device, const std::string& name, const PortResources& resources, EthOptions options)
      : EthPort(std::move(device), name, resources, std::move(options)), told_(EthPort::info()) {
    told_.detail += std::string(", ") + in_words(xdp_mode(told_.interface));
  }
  [[nodiscard]] const PortInfo& info() const override { return told_; }

 private:
  PortInfo told_;
};

class AfXdp final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "af_xdp",
        .summary = "a kernel interface before the kernel's stack, through an XDP program",
        .arguments = {{"interface", "kernel interface that is up, such as one end of a veth pair", "", true},
                      {"busy_budget", "packets per busy poll of the driver; 0: the kernel polls by itself", "0"}},
        .needs_root = true,
        .kernel_receives = true,
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override {
    if (Reason reason = net_driver_missing("af_xdp"); !reason.reason.empty()) return reason;
    if (Reason reason = capability_missing(kCapNetAdmin, "CAP_NET_ADMIN"); !reason.reason.empty()) return reason;
    if (Reason reason = capability_missing(kCapNetRaw, "CAP_NET_RAW"); !reason.reason.empty()) return reason;
    return family_missing(AF_XDP, "AF_XDP", "CONFIG_XDP_SOCKETS");
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string interface = argument(info(), spec, "interface");
    require_interface("af_xdp", interface, resources.max_frame);
    require_page("af_xdp", resources);
    require_side_by_side("af_xdp", resources.pool);
    const std::string arguments = "iface=" + interface + ",start_queue=0,queue_count=" + std::to_string(resources.queues) +
                                  ",busy_budget=" + std::to_string(number_argument(info(), spec, "busy_budget", 0, 1024));
    // Attach the program of the socket alone. A dispatcher that calls it would be pinned by libxdp to a file, which a killed
    // process leaves behind.
    setenv("LIBXDP_SKIP_DISPATCHER", "1", 0);
    const std::string missing = find_program_of_sockets();
    EthOptions options;
    options.info = {.kind = "af_xdp",
                    .driver = "net_af_xdp",
                    .detail = interface,
                    .is_virtual = true,
                    .shares_buffers = false,
                    .interface = interface};
    options.descriptors = kRing;
    options.queue_packets = kRing;
    const auto given_up = std::chrono::steady_clock::now() + kQueueFree;
    for (;;) {
      try {
        auto device = std::make_unique<VirtualDevice>("net_af_xdp", arguments);
        const std::string name = device->name();
        return std::make_unique<AfXdpPort>(std::move(device), name, resources, options);
      } catch (const Error& error) {
        // The driver says EINVAL whatever the kernel said, so this also waits, in vain, if the fault is not a busy queue.
        if (std::chrono::steady_clock::now() > given_up) {
          if (!missing.empty()) throw Error(error.what() + missing);
          throw Error(std::string(error.what()) + "; tried for " + std::to_string(kQueueFree.count()) +
                      " s: another program may have the interface's queue (ip -d link show " + interface +
                      " shows its XDP program), or this process may not lock enough memory (ulimit -l)");
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
  }
};

DPUBENCH_PORT(AfXdp);

}  // namespace
}  // namespace dpubench::datapath
