// l3-forwarding: a router for IPv4 and IPv6.
#include <map>
#include <memory>
#include <optional>

#include "applications/application.hpp"
#include "applications/frames.hpp"
#include "applications/l3-forwarding/router.hpp"
#include "applications/l3-forwarding/routes.hpp"
#include "base/byte_order.hpp"
#include "measure/region.hpp"
#include "packet/link_layer.hpp"

namespace dpubench::applications {
namespace {

namespace wire = inputs::wire;

const ApplicationInfo& info() {
  static const ApplicationInfo info{
      .name = "l3-forwarding",
      .summary = "a router: header checks, longest prefix match, TTL, checksum, new link-layer header, statistics of next hops",
      .definition =
          "Reads a capture frame by frame. A frame may have up to two VLAN tags. IPv4 packets pass the checks of RFC 1812, "
          "IPv6 packets those of RFC 8200. A packet with a route gets a TTL lower by one, an updated checksum and a new Ethernet "
          "header, and is written to a capture. A record is a frame. Verified: a slow reference (a map of prefixes by length, "
          "checksums summed anew) sends the same packets to the same next hops.",
      .inputs = {{"capture", "frames that come in"},
                 {"routes4", "IPv4 routes, in addition to a default route"},
                 {"routes6", "IPv6 routes, in addition to a default route", true}},
      .operators = {"lpm", "checksum"},
      .parameters = {{.name = "routes",
                      .summary = "routes taken evenly from each list; 0: all of them",
                      .values = {"4096", "0"},
                      .default_value = "4096",
                      .unit = "1",
                      .min = 0,
                      .max = 1U << 24}},
      .sources = {"RFC 1812 sections 5.2.2, 5.3.1 and 5.3.7", "RFC 8200 sections 3 and 4", "RFC 1624 equation 3"},
  };
  return info;
}

/// A longest prefix match that tries every length in turn.
class SlowTable {
 public:
  explicit SlowTable(const std::vector<Route>& routes) {
    for (const Route& route : routes) hops_[route.length][route.address] = route.next_hop;
  }
  [[nodiscard]] std::uint32_t find(std::span<const std::byte> address) const {
    for (int length = static_cast<int>(address.size() * 8); length >= 0; --length) {
      const auto of_length = hops_.find(static_cast<std::uint8_t>(length));
      if (of_length == hops_.end()) continue;
      std::array<std::uint8_t, 16> masked{};
      for (int bit = 0; bit < length; ++bit) {
        const auto byte = static_cast<std::size_t>(bit / 8);
        masked[byte] =
            static_cast<std::uint8_t>(masked[byte] | (std::to_integer<unsigned>(address[byte]) & (0x80U >> (bit % 8))));
      }
      if (const auto found = of_length->second.find(masked); found != of_length->second.end()) return found->second;
    }
    return kMissed;
  }

 private:
  std::map<std::uint8_t, std::map<std::array<std::uint8_t, 16>, std::uint32_t>> hops_;
};

std::uint32_t slow_sum(std::span<const std::byte> header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) sum += wire::be16(header, i);
  while (sum > 0xffff) sum = (sum & 0xffffU) + (sum >> 16);
  return sum;
}

bool begins_with(std::span<const std::byte> address, std::initializer_list<unsigned> bytes) {
  std::size_t i = 0;
  for (const unsigned byte : bytes) {
    if (std::to_integer<unsigned>(address[i++]) != byte) return false;
  }
  return true;
}

bool is_unicast(std::span<const std::byte> address) {
  const unsigned first = std::to_integer<unsigned>(address[0]);
  if (address.size() == 4) return first != 0 && first != 127 && first < 224;
  unsigned others = 0;
  for (std::size_t i = 0; i < 15; ++i) others |= std::to_integer<unsigned>(address[i]);
  if (others == 0 && std::to_integer<unsigned>(address[15]) < 2) return false;
  for (unsigned second = 0x80; second < 0xc0; ++second) {
    if (begins_with(address, {0xfe, second})) return false;
  }
  return first != 0xff;
}

/// The reference's result for a packet: next hop and packet; nothing if it drops the packet.
using Sent = std::pair<std::uint32_t, std::vector<std::byte>>;
std::optional<Sent> slow_forward(std::span<const std::byte> ip, const SlowTable& four, const SlowTable& six) {
  if (ip.size() < 20) return std::nullopt;
  const bool is4 = wire::u8(ip, 0) >> 4 == 4;
  if (!is4 && (wire::u8(ip, 0) >> 4 != 6 || ip.size() < 40)) return std::nullopt;
  const std::size_t header = is4 ? (wire::u8(ip, 0) & 15U) * 4 : 40;
  const std::size_t length = is4 ? wire::be16(ip, 2) : 40 + wire::be16(ip, 4);
  if (header < 20 || length < header || length > ip.size()) return std::nullopt;
  if (is4 && slow_sum(ip.first(header)) != 0xffff) return std::nullopt;
  const auto source = is4 ? ip.subspan(12, 4) : ip.subspan(8, 16);
  const auto destination = is4 ? ip.subspan(16, 4) : ip.subspan(24, 16);
  if (!is_unicast(source) || !is_unicast(destination)) return std::nullopt;
  const std::size_t limit = is4 ? 8 : 7;
  if (wire::u8(ip, limit) < 2) return std::nullopt;
  const std::uint32_t hop = (is4 ? four : six).find(destination);
  if (hop == kMissed) return std::nullopt;
  std::vector<std::byte> packet(ip.begin(), ip.begin() + static_cast<std::ptrdiff_t>(length));
  packet[limit] = static_cast<std::byte>(wire::u8(ip, limit) - 1);
  if (is4) {
    packet[10] = packet[11] = std::byte{0};
    const std::uint32_t checksum = ~slow_sum(std::span(packet).first(header)) & 0xffffU;
    packet[10] = static_cast<std::byte>(checksum >> 8);
    packet[11] = static_cast<std::byte>(checksum & 0xffU);
  }
  return Sent{hop, std::move(packet)};
}

class L3Forwarding final : public Application {
 public:
  void load(const Task& task) override { routes_ = std::make_unique<Routes>(task); }

  void run(const Task& task) override {
    const std::filesystem::path& path = task.file("capture");
    const std::vector<std::byte> file = read_input(path, "capture", task.limit_bytes);
    Router router(routes_->four, routes_->six);
    FrameReader reader(file, path.string());
    FrameReader::Frame frame;
    std::array<std::uint64_t, kOutcomes> outcomes{};
    std::vector<std::byte> sent;
    begin_capture(output, kLinkEthernet);
    while (reader.next(frame)) {
      measure::next_message();
      sent.clear();
      const Outcome outcome = router.forward(frame.bytes, reader.link_type(), sent);
      ++outcomes.at(static_cast<std::size_t>(outcome));
      ++records;
      if (outcome != Outcome::kForwarded) continue;
      append_frame(output, frame.time_us, static_cast<std::uint32_t>(sent.size()));
      append(output, sent);
    }
    input_bytes = file.size();
    capture_bytes_ = output.size();
    for (std::uint32_t hop = 0; hop < kNextHops; ++hop) {
      const HopCounters& counters = router.hops()[hop];
      append(output, std::to_string(hop) + "," + std::to_string(counters.packets) + "," + std::to_string(counters.bytes) + "\n");
    }
    for (std::size_t i = 0; i < kOutcomes; ++i) facts[std::string(kOutcomeNames.at(i))] = outcomes.at(i);
  }

  void verify(const Task& task) const override {
    const std::filesystem::path& path = task.file("capture");
    const std::vector<std::byte> file = read_input(path, "capture", task.limit_bytes);
    const SlowTable four(routes_->four);
    const SlowTable six(routes_->six);
    FrameReader reader(file, path.string());
    const std::span<const std::byte> all(output);
    FrameReader ours(all.first(capture_bytes_), "the output");
    FrameReader::Frame frame;
    FrameReader::Frame made;
    std::map<std::uint32_t, HopCounters> hops;
    for (std::uint64_t number = 1; reader.next(frame); ++number) {
      const auto expected = slow_forward(network_packet(frame.bytes, reader.link_type()), four, six);
      if (!expected) continue;
      const auto& [hop, packet] = *expected;
      const bool same = ours.next(made) && made.bytes.size() == kEthernet + packet.size() &&
                        std::equal(packet.begin(), packet.end(), made.bytes.begin() + kEthernet) &&
                        wire::u8(made.bytes, 5) == hop && wire::u8(made.bytes, 11) == hop;
      if (!same) throw Error("l3-forwarding: frame " + std::to_string(number) + " of " + path.string() + ": the output is wrong");
      ++hops[hop].packets;
      hops[hop].bytes += packet.size();
    }
    if (ours.next(made)) throw Error("l3-forwarding: the output has more frames than the reference sends");
    std::string statistics;
    for (std::uint32_t hop = 0; hop < kNextHops; ++hop)
      statistics += std::to_string(hop) + "," + std::to_string(hops[hop].packets) + "," + std::to_string(hops[hop].bytes) + "\n";
    const auto text = all.subspan(capture_bytes_);
    if (statistics != std::string_view(reinterpret_cast<const char*>(text.data()), text.size()))
      throw Error("l3-forwarding: the statistics of next hops are wrong");
  }

 private:
  /// The routes of a task. Reading a list takes a hundred million instructions, which would dominate the trace of a router.
  /// Therefore load() reads the lists, and the traced program only builds its tables from them.
  struct Routes {
    std::vector<Route> four;
    std::vector<Route> six{Route{}};
    explicit Routes(const Task& task) {
      const std::uint64_t wanted = task.params.number("routes");
      four = read_routes4(task.file("routes4"), wanted, kNextHops);
      if (task.has("routes6")) six = read_routes6(task.file("routes6"), wanted, kNextHops);
    }
  };

  /// Return a frame's IP packet and all bytes behind it. Empty if the frame's type does not name the packet's IP version.
  static std::span<const std::byte> network_packet(std::span<const std::byte> frame, std::uint32_t link_type) {
    if (link_type != kLinkEthernet) {
      const inputs::Unwrapped inner = inputs::unwrap(link_type, frame);
      return inner.content == inputs::Content::kIp ? inner.ip : std::span<const std::byte>{};
    }
    std::size_t at = 12;
    for (int tags = 0; tags < 2 && at + 2 <= frame.size(); ++tags) {
      if (wire::be16(frame, at) == 0x8100 || wire::be16(frame, at) == 0x88a8) at += 4;
    }
    if (at + 3 > frame.size()) return {};
    const std::uint32_t version = wire::u8(frame, at + 2) >> 4;
    const bool agrees = (wire::be16(frame, at) == 0x0800 && version == 4) || (wire::be16(frame, at) == 0x86dd && version == 6);
    return agrees ? frame.subspan(at + 2) : std::span<const std::byte>{};
  }

  std::unique_ptr<Routes> routes_;
  std::size_t capture_bytes_ = 0;
};

}  // namespace

DPUBENCH_APPLICATION(info, L3Forwarding)

}  // namespace dpubench::applications
