#include "datapath/client/fill.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "datapath/client/bitmap.hpp"
#include "datapath/client/flow_check.hpp"
#include "datapath/frame/trailer.hpp"
#include "datapath/memory.hpp"

namespace dpubench::datapath {
namespace {

using Steady = std::chrono::steady_clock;

/// Most packets on their way: fewer than any port's queue holds.
constexpr std::size_t kMostOnTheirWay = 64;
constexpr std::size_t kBurst = 16;
constexpr std::uint32_t kPoolPackets = 2048;
/// A packet that is not answered within this time counts as lost.
constexpr auto kPatience = std::chrono::milliseconds(20);
constexpr int kPasses = 3;
/// Longest time of a fill, so that it does not wait for a server that answers nothing.
constexpr auto kLongest = std::chrono::seconds(10);

}  // namespace

/// The record of the answers.
class Filler::Pass {
 public:
  Pass(Port& port, std::uint32_t trial, std::size_t flows) : port_(port), trial_(trial), answered_(flows), flows_(flows) {}

  void receive() {
    std::array<rte_mbuf*, kBurst> packets;
    const std::uint16_t n = port_.receive(0, packets.data(), kBurst);
    for (std::uint16_t i = 0; i < n; ++i) {
      const bool whole = packets[i]->nb_segs == 1 || rte_pktmbuf_linearize(packets[i]) == 0;
      if (whole) account({rte_pktmbuf_mtod(packets[i], const std::byte*), packets[i]->data_len});
    }
    if (n != 0) rte_pktmbuf_free_bulk(packets.data(), n);
    if (on_their_way_ != 0 && Steady::now() - last_ > kPatience) on_their_way_ = 0;
  }
  void sent(std::size_t n) {
    on_their_way_ += n;
    last_ = Steady::now();
  }
  [[nodiscard]] std::size_t on_their_way() const { return on_their_way_; }
  [[nodiscard]] std::vector<std::uint32_t> missing() const {
    std::vector<std::uint32_t> flows;
    for (std::uint32_t flow = 0; flow < flows_; ++flow) {
      if (!answered_.test(flow)) flows.push_back(flow);
    }
    return flows;
  }

 private:
  void account(std::span<const std::byte> frame) {
    const auto trailer = read_trailer(frame);
    if (!trailer || !belongs_to(*trailer, static_cast<std::uint32_t>(frame.size()), trial_) || trailer->number >= flows_) return;
    if (answered_.exchange(trailer->number)) return;
    on_their_way_ -= std::min<std::size_t>(on_their_way_, 1);
    last_ = Steady::now();
  }

  Port& port_;
  std::uint32_t trial_;
  Bitmap answered_;
  std::size_t flows_;
  std::size_t on_their_way_ = 0;
  Steady::time_point last_ = Steady::now();
};

Filler::Filler(Port& port, const Traffic& traffic, const Params& workload)
    : port_(port), traffic_(traffic), first_packets_(first_packets(traffic, workload)) {
  static std::atomic<unsigned> serial = 0;
  pool_ = make_pool("dpubench-fill" + std::to_string(serial++), kPoolPackets, traffic.max_frame);
}

Filler::~Filler() {
  // A port may still hold packets of the pool. Then the pool stays.
  if (rte_mempool_full(pool_) == 1) rte_mempool_free(pool_);
}

/// Send a packet of each of these flows. @param flows  at most kBurst @return how many packets the port took: those of the
/// first flows
std::uint16_t Filler::send(std::span<const std::uint32_t> flows, std::uint32_t trial) {
  std::array<rte_mbuf*, kBurst> packets;
  std::uint16_t filled = 0;
  Cursor cursor(traffic_);
  for (const std::uint32_t flow : flows) {
    rte_mbuf* const packet = rte_pktmbuf_alloc(pool_);
    if (packet == nullptr) break;
    const PacketRef ref = cursor.at(first_packets_[flow], 0);
    const Shape& shape = traffic_.shapes[ref.index];
    auto* const frame = reinterpret_cast<std::byte*>(rte_pktmbuf_append(packet, shape.length));
    std::memcpy(frame, shape.bytes, shape.length);
    traffic_.write_headers(ref, frame);
    write_trailer({frame, shape.length},
                  {.trial = static_cast<std::uint16_t>(trial), .number = flow, .due_ns = 0, .frame = ref.index});
    packets[filled++] = packet;
  }
  const std::uint16_t taken = filled == 0 ? std::uint16_t{0} : port_.transmit(0, packets.data(), filled);
  if (taken < filled) rte_pktmbuf_free_bulk(packets.data() + taken, filled - taken);
  return taken;
}

nlohmann::json Filler::run(std::uint32_t trial) {
  const auto until = Steady::now() + kLongest;
  std::uint64_t sent = 0;
  Pass pass(port_, trial, first_packets_.size());
  std::vector<std::uint32_t> left = pass.missing();
  for (int i = 0; i < kPasses && !left.empty(); ++i) {
    std::size_t next = 0;
    while ((next < left.size() || pass.on_their_way() != 0) && Steady::now() < until) {
      pass.receive();
      const std::size_t room = kMostOnTheirWay - std::min(pass.on_their_way(), kMostOnTheirWay);
      const std::size_t n = std::min({room, kBurst, left.size() - next});
      if (n == 0) continue;
      const std::uint16_t taken = send(std::span(left).subspan(next, n), trial);
      if (taken != 0) pass.sent(taken);
      next += taken;
      sent += taken;
    }
    left = pass.missing();
  }
  return {{"trial", trial}, {"flows", first_packets_.size()}, {"sent", sent}, {"answered", first_packets_.size() - left.size()}};
}

}  // namespace dpubench::datapath
