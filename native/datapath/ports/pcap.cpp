// pcap: packets come from a capture file and go to another one.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"

namespace dpubench::datapath {
namespace {

/// Return the link type of a capture's first interface; -1 when the file is no capture. pcap: draft-ietf-opsawg-pcap, 4;
/// pcapng: draft-ietf-opsawg-pcapng, 4.1 and 4.2.
int link_type(const std::string& path) {
  constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
  constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
  constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
  constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
  std::ifstream file(path, std::ios::binary);
  const auto word = [&file](std::uint64_t at) {
    std::uint32_t value = 0;
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  };
  const std::uint32_t magic = word(0);
  if (magic == kSectionHeader) {
    const bool swapped = word(8) != kByteOrderMagic;
    const auto in_order = [swapped](std::uint32_t value) { return swapped ? __builtin_bswap32(value) : value; };
    const std::uint64_t block = in_order(word(4));
    if (in_order(word(8)) != kByteOrderMagic || in_order(word(block)) != 1 || !file) return -1;
    std::uint16_t type = 0;
    const std::uint32_t half = word(block + 8);
    std::memcpy(&type, &half, sizeof type);
    return swapped ? __builtin_bswap16(type) : type;
  }
  const bool swapped = magic == __builtin_bswap32(kMicroseconds) || magic == __builtin_bswap32(kNanoseconds);
  if (!swapped && magic != kMicroseconds && magic != kNanoseconds) return -1;
  const std::uint32_t type = word(20);
  if (!file) return -1;
  return static_cast<int>((swapped ? __builtin_bswap32(type) : type) & 0x0fffffffU);
}

/// A port that ends with its file. From then on it receives nothing and is no longer up.
class PcapPort final : public EthPort {
 public:
  PcapPort(std::unique_ptr<VirtualDevice> device, const std::string& name, const PortResources& resources, EthOptions options,
           bool reads)
      : EthPort(std::move(device), name, resources, std::move(options)), pool_(resources.pool), at_end_(!reads), reads_(reads) {}

  std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept override {
    if (at_end_) return 0;
    const std::uint16_t taken = EthPort::receive(queue, packets, n);
    // The driver reads on until it has n packets, or no packet or no buffer is left.
    if (taken == 0 && rte_mempool_avail_count(pool_) != 0) at_end_ = true;
    std::uint16_t kept = 0;
    for (std::uint16_t i = 0; i < taken; ++i) {
      if (packets[i]->nb_segs == 1) [[likely]] {
        packets[kept++] = packets[i];
      } else {
        too_long_.fetch_add(1, std::memory_order_relaxed);
        rte_pktmbuf_free(packets[i]);
      }
    }
    return kept;
  }
  [[nodiscard]] bool is_up() const noexcept override { return !reads_ || !at_end_; }
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const override {
    std::map<std::string, std::uint64_t> all = EthPort::counters();
    all["end_of_file"] = reads_ && at_end_ ? 1 : 0;
    all["frames_too_long"] = too_long_;
    return all;
  }
  [[nodiscard]] std::uint32_t queue_packets() const noexcept override { return 0; }

 private:
  rte_mempool* pool_;
  std::atomic<bool> at_end_;
  std::atomic<std::uint64_t> too_long_ = 0;
  bool reads_;
};

class Pcap final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "pcap",
        .summary = "capture files: received packets are read from one, transmitted packets are written to another",
        .arguments = {{"in", "capture of Ethernet frames that come in, as fast as they are taken", ""},
                      {"out", "capture to write; an existing file is replaced", ""}},
    };
    return info;
  }

  [[nodiscard]] Reason unavailable() const override { return net_driver_missing("pcap"); }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const std::string in = argument(info(), spec, "in");
    const std::string out = argument(info(), spec, "out");
    if (in.empty() && out.empty()) throw Error("port pcap: there is no file: give in=FILE, out=FILE or both");
    if (resources.queues != 1) throw Error("port pcap: a file has one queue: give one CPU");
    std::string arguments;
    if (!in.empty()) {
      check_readable(in);
      arguments = "rx_pcap=" + in;
    }
    if (!out.empty()) {
      check_writable(in, out);
      arguments += (arguments.empty() ? "" : ",") + ("tx_pcap=" + out);
    }
    EthOptions options;
    options.info = {
        .kind = "pcap",
        .driver = "net_pcap",
        .detail = (in.empty() ? "" : "from " + in) + (in.empty() || out.empty() ? "" : " ") + (out.empty() ? "" : "to " + out)};
    options.ignores_mtu = true;
    auto device = std::make_unique<VirtualDevice>("net_pcap", arguments);
    const std::string name = device->name();
    return std::make_unique<PcapPort>(std::move(device), name, resources, std::move(options), !in.empty());
  }

 private:
  static void check_readable(const std::string& in) {
    if (access(in.c_str(), R_OK) != 0) throw Error("port pcap: " + in + " cannot be read: " + std::strerror(errno));
    constexpr int kEthernet = 1;
    const int type = link_type(in);
    if (type == -1) throw Error("port pcap: " + in + " is not a capture; give a pcap or pcapng file");
    if (type != kEthernet) {
      throw Error("port pcap: " + in + " holds no Ethernet frames (its link type is " + std::to_string(type) +
                  "); give a capture of an Ethernet interface");
    }
  }
  static void check_writable(const std::string& in, const std::string& out) {
    const std::filesystem::path file(out);
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    std::error_code none;
    const bool there = std::filesystem::exists(file, none);
    if (access(there ? file.c_str() : folder.c_str(), W_OK) != 0) {
      throw Error("port pcap: " + out + " cannot be written: " + std::strerror(errno));
    }
    if (there && !in.empty() && std::filesystem::equivalent(in, out, none)) {
      throw Error("port pcap: in and out are the same file: " + out);
    }
  }
};

DPUBENCH_PORT(Pcap);

}  // namespace
}  // namespace dpubench::datapath
