#include "datapath/ports/eth.hpp"

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <functional>
#include <semaphore>

#include "datapath/frame/size.hpp"
#include "operators/support/dpdk/device.hpp"

namespace dpubench::datapath {
namespace {

[[noreturn]] void fail(const PortInfo& info, const std::string& step, int failed) {
  throw Error(port_prefix(info.kind) + info.driver + ": " + step + ": " + rte_strerror(failed < 0 ? -failed : failed));
}

/// Return the bytes of the largest frame that the device says it takes.
std::uint32_t largest_frame(const rte_eth_dev_info& device) {
  std::uint32_t most = device.max_rx_pktlen == 0 ? kMaxFrame : device.max_rx_pktlen;
  if (device.max_mtu != 0) most = std::min(most, device.max_mtu + kMtuOverhead);
  return most;
}

/// A block on SIGPIPE. When drivers stop, they tell the other side, which may be gone. Then a SIGPIPE must not end the program.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&broken_);
    sigaddset(&broken_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_, &before_);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) {
      while (sigtimedwait(&broken_, nullptr, &now) > 0) continue;
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t broken_{};
  sigset_t before_{};
};

/// Run `work` in the EAL's interrupt thread, and wait for it. That thread runs the handlers of drivers one after the other.
void among_handlers(const std::function<void()>& work) {
  struct Task {
    const std::function<void()>& work;
    std::binary_semaphore done{0};
  } task{work};
  const auto run = [](void* given) {
    auto& todo = *static_cast<Task*>(given);
    todo.work();
    todo.done.release();
  };
  if (rte_eal_alarm_set(1, run, &task) != 0) return work();
  task.done.acquire();
}

}  // namespace

VirtualDevice::VirtualDevice(const std::string& prefix, const std::string& arguments) {
  static std::atomic<unsigned> serial = 0;
  name_ = prefix + std::to_string(serial++);
  const std::scoped_lock lock(device_mutex());
  dpdk::create_virtual_device(name_, arguments);
}

VirtualDevice::~VirtualDevice() {
  const std::scoped_lock lock(device_mutex());
  rte_eal_hotplug_remove("vdev", name_.c_str());
}

EthPort::EthPort(std::unique_ptr<VirtualDevice> device, const std::string& device_name, const PortResources& resources,
                 EthOptions options)
    : device_(std::move(device)), options_(std::move(options)), queues_(resources.queues) {
  if (const int failed = rte_eth_dev_get_port_by_name(device_name.c_str(), &port_); failed != 0) {
    fail(options_.info, "there is no port for the device " + device_name, failed);
  }
  try {
    configure(resources);
  } catch (...) {
    rte_eth_dev_close(port_);
    throw;
  }
}

void EthPort::configure(const PortResources& resources) {
  PortInfo& info = options_.info;
  rte_eth_dev_info device{};
  if (const int failed = rte_eth_dev_info_get(port_, &device); failed != 0) fail(info, "rte_eth_dev_info_get", failed);
  if (queues_ > device.max_rx_queues || queues_ > device.max_tx_queues) {
    throw Error(port_prefix(info.kind) + std::to_string(queues_) + " queues are needed, one for each CPU, but " + info.driver +
                " has " + std::to_string(std::min(device.max_rx_queues, device.max_tx_queues)));
  }
  rte_eth_conf conf{};
  const std::uint32_t most = largest_frame(device);
  if (resources.max_frame <= most) {
    conf.rxmode.mtu = std::max<std::uint32_t>(resources.max_frame, RTE_ETHER_MAX_LEN) - kMtuOverhead;
    if (conf.rxmode.mtu + kMtuOverhead > most) conf.rxmode.mtu = resources.max_frame - kMtuOverhead;
  } else if (!options_.ignores_mtu) {
    throw Error(port_prefix(info.kind) + "frames of " + std::to_string(resources.max_frame) + " bytes are needed, but " +
                info.driver + " takes " + std::to_string(most) + " at most");
  }
  info.mtu_frame = std::max<std::uint32_t>(resources.max_frame, RTE_ETHER_MAX_LEN);
  constexpr std::uint64_t kHashed = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
  if (queues_ > 1 && (device.flow_type_rss_offloads & kHashed) != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = device.flow_type_rss_offloads & kHashed;
  }
  conf.txmode.offloads = device.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  if (const int failed = rte_eth_dev_configure(port_, queues_, queues_, &conf); failed != 0) {
    fail(info, "rte_eth_dev_configure", failed);
  }
  std::uint16_t receive_descriptors = options_.descriptors;
  std::uint16_t transmit_descriptors = options_.descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(port_, &receive_descriptors, &transmit_descriptors);
  if (options_.queue_packets == 0) options_.queue_packets = receive_descriptors;
  const auto socket = static_cast<unsigned>(std::max(0, rte_eth_dev_socket_id(port_)));
  for (std::uint16_t queue = 0; queue < queues_; ++queue) {
    int failed = rte_eth_rx_queue_setup(port_, queue, receive_descriptors, socket, nullptr, resources.pool);
    if (failed != 0) fail(info, "setting up receive queue " + std::to_string(queue), failed);
    failed = rte_eth_tx_queue_setup(port_, queue, transmit_descriptors, socket, nullptr);
    if (failed != 0) fail(info, "setting up transmit queue " + std::to_string(queue), failed);
  }
  if (options_.sets_mtu) {
    const int refused = rte_eth_dev_set_mtu(port_, static_cast<std::uint16_t>(info.mtu_frame - kMtuOverhead));
    if (refused != 0) fail(info, "setting an MTU of " + std::to_string(info.mtu_frame - kMtuOverhead), refused);
  }
  if (const int failed = rte_eth_dev_start(port_); failed != 0) fail(info, "rte_eth_dev_start", failed);
  // Software drivers have no filter, and report that they do not support this.
  const int promiscuous = rte_eth_promiscuous_enable(port_);
  if (promiscuous != 0 && promiscuous != -ENOTSUP && !info.is_virtual) fail(info, "enabling promiscuous mode", promiscuous);
}

EthPort::~EthPort() {
  const auto close = [this] {
    const NoBrokenPipe guard;
    rte_eth_dev_stop(port_);
    rte_eth_dev_close(port_);
  };
  if (options_.closes_among_handlers) {
    among_handlers(close);
  } else {
    close();
  }
}

std::uint16_t EthPort::receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept {
  return rte_eth_rx_burst(port_, queue, packets, n);
}

std::uint16_t EthPort::transmit(std::uint16_t queue, rte_mbuf* const* packets, std::uint16_t n) noexcept {
  // ethdev does not declare the array const, but drivers do not write to it.
  return rte_eth_tx_burst(port_, queue, const_cast<rte_mbuf**>(packets), n);
}

bool EthPort::is_up() const noexcept {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

std::map<std::string, std::uint64_t> EthPort::counters() const {
  std::map<std::string, std::uint64_t> all;
  const int count = rte_eth_xstats_get(port_, nullptr, 0);
  if (count <= 0) return all;
  std::vector<rte_eth_xstat> values(static_cast<std::size_t>(count));
  std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
  const auto room = static_cast<unsigned>(count);
  if (rte_eth_xstats_get(port_, values.data(), room) != count || rte_eth_xstats_get_names(port_, names.data(), room) != count) {
    return all;
  }
  for (const rte_eth_xstat& value : values) {
    if (value.id < names.size()) all[names[value.id].name] = value.value;
  }
  return all;
}

std::uint32_t EthPort::queue_packets() const noexcept {
  return options_.queue_packets * queues_;
}

PortKind::Reason net_driver_missing(const std::string& name) {
  const dpdk::SoftwareDriver driver = dpdk::software_driver(name, "net_" + name, "librte_net_" + name);
  std::string reason = dpdk::driver_missing(driver);
  if (reason.empty()) return {};
  return {std::move(reason), "install the package " + driver.package};
}

std::string argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name) {
  if (const auto given = spec.arguments.find(name); given != spec.arguments.end()) return given->second;
  const auto known = std::find_if(info.arguments.begin(), info.arguments.end(), [&](const auto& a) { return a.name == name; });
  return known == info.arguments.end() ? "" : known->default_value;
}

std::uint32_t number_argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name, std::uint32_t least,
                              std::uint32_t most) {
  const std::string text = argument(info, spec, name);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw Error(port_prefix(info.name) + name + "=" + text + ": must be a number from " + std::to_string(least) + " to " +
                std::to_string(most));
  }
  return value;
}

bool flag_argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name) {
  const std::string text = argument(info, spec, name);
  if (text == "yes" || text == "no") return text == "yes";
  throw Error(port_prefix(info.name) + name + "=" + text + ": must be yes or no");
}

std::string port_prefix(const std::string& kind) {
  return "port " + kind + ": ";
}

}  // namespace dpubench::datapath
