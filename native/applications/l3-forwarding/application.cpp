// l3-forwarding: a router for IPv4 and IPv6.
#include <map>
#include <memory>

#include "applications/application.hpp"
#include "applications/frames.hpp"
#include "applications/l3-forwarding/oracle.hpp"
#include "applications/l3-forwarding/router.hpp"
#include "applications/l3-forwarding/routes.hpp"
#include "base/byte_order.hpp"
#include "measure/region.hpp"
#include "packet/headers.hpp"

namespace dpubench::applications {
namespace {

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
    const Oracle oracle(routes_->four, routes_->six);
    FrameReader reader(file, path.string());
    const std::span<const std::byte> all(output);
    FrameReader ours(all.first(capture_bytes_), "the output");
    FrameReader::Frame frame;
    FrameReader::Frame made;
    std::map<std::uint32_t, HopCounters> hops;
    for (std::uint64_t number = 1; reader.next(frame); ++number) {
      const auto expected = oracle.forward(frame.bytes, reader.link_type());
      if (!expected) continue;
      const auto& [hop, packet] = *expected;
      const bool same = ours.next(made) && made.bytes.size() == packet::ethernet::kHeader + packet.size() &&
                        std::equal(packet.begin(), packet.end(), made.bytes.begin() + packet::ethernet::kHeader) &&
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

  std::unique_ptr<Routes> routes_;
  std::size_t capture_bytes_ = 0;
};

}  // namespace

DPUBENCH_APPLICATION(info, L3Forwarding)

}  // namespace dpubench::applications
