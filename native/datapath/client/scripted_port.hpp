// A port whose link does what a test says, packet by packet.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "datapath/ports/port.hpp"
#include "datapath/test_memory.hpp"

namespace dpubench::datapath::test {

enum class Act : std::uint8_t { kEcho, kLose, kRefuse, kTwice, kLater, kCorruptTrailer, kCorruptPayload };

/// A port that sends back what it is given. It asks `act` for each packet offered, in order.
class ScriptedPort final : public Port {
 public:
  explicit ScriptedPort(rte_mempool* pool) : pool_(pool) {}
  ~ScriptedPort() override {
    for (rte_mbuf* packet : back_) rte_pktmbuf_free(packet);
    if (held_ != nullptr) rte_pktmbuf_free(held_);
  }
  ScriptedPort(const ScriptedPort&) = delete;
  ScriptedPort& operator=(const ScriptedPort&) = delete;

  std::function<Act(std::uint64_t)> act = [](std::uint64_t) { return Act::kEcho; };
  std::uint64_t offered = 0;
  std::vector<std::vector<std::byte>> frames;  ///< frames as they were sent, if `keep`
  bool keep = false;
  PortInfo port_info{
      .kind = "scripted", .driver = "test", .detail = "", .is_virtual = true, .shares_buffers = false, .mtu_frame = 9018};

  /// Let one more frame come in.
  void inject(std::span<const std::byte> frame) { back_.push_back(copy(frame)); }

  [[nodiscard]] const PortInfo& info() const override { return port_info; }
  [[nodiscard]] bool is_up() const noexcept override { return true; }
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const override { return {}; }
  std::uint16_t receive(std::uint16_t, rte_mbuf** packets, std::uint16_t n) noexcept override {
    std::uint16_t got = 0;
    for (; got < n && !back_.empty(); ++got) {
      packets[got] = back_.front();
      back_.pop_front();
    }
    return got;
  }
  /// Take packets up to the first that it refuses, as a full queue does.
  std::uint16_t transmit(std::uint16_t, rte_mbuf* const* packets, std::uint16_t n) noexcept override {
    std::uint16_t taken = 0;
    for (; taken < n; ++taken) {
      const Act what = act(offered + taken);
      if (what == Act::kRefuse) break;
      const std::span<const std::byte> frame(rte_pktmbuf_mtod(packets[taken], const std::byte*), packets[taken]->data_len);
      if (keep) frames.emplace_back(frame.begin(), frame.end());
      carry(frame, what);
      rte_pktmbuf_free(packets[taken]);
    }
    offered += n;
    return taken;
  }

 private:
  rte_mbuf* copy(std::span<const std::byte> frame) {
    rte_mbuf* const packet = rte_pktmbuf_alloc(pool_);
    std::memcpy(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.size())), frame.data(), frame.size());
    return packet;
  }
  void carry(std::span<const std::byte> frame, Act what) {
    if (what == Act::kLose) return;
    rte_mbuf* const packet = copy(frame);
    if (what == Act::kCorruptTrailer) *rte_pktmbuf_mtod_offset(packet, std::uint8_t*, frame.size() - 6) ^= 1;
    if (what == Act::kCorruptPayload) *rte_pktmbuf_mtod_offset(packet, std::uint8_t*, 43) ^= 1;
    if (what == Act::kLater) {
      if (held_ != nullptr) back_.push_back(held_);
      held_ = packet;
      return;
    }
    back_.push_back(packet);
    if (what == Act::kTwice) back_.push_back(copy(frame));
    if (held_ != nullptr) {
      back_.push_back(held_);
      held_ = nullptr;
    }
  }

  rte_mempool* pool_;
  std::deque<rte_mbuf*> back_;
  rte_mbuf* held_ = nullptr;  ///< comes back behind the next one
};

/// Return the pool for all tests of the process.
inline rte_mempool* pool() {
  static rte_mempool* const shared = [] {
    dpubench::test::start_memory();
    return make_pool("client-test", 8192, 9018);
  }();
  return shared;
}

}  // namespace dpubench::datapath::test
