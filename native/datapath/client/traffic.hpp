// The packets of a trial, number by number: which frame, and of which flow. They are the same for the same job, so that a trial
// can be replayed when its losses are located.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datapath/client/flows.hpp"
#include "datapath/client/schedule.hpp"
#include "datapath/job.hpp"
#include "datapath/workloads/workload.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

/// Locally administered addresses (IEEE 802 clause 8.4) of all frames of the client. It recognises its frames by them.
inline constexpr std::array<std::uint8_t, 6> kClientMac = {0x02, 0x44, 0x50, 0x55, 0x00, 0x01};
inline constexpr std::array<std::uint8_t, 6> kServerMac = {0x02, 0x44, 0x50, 0x55, 0x00, 0x02};

/// The fields of a template that change from packet to packet, besides the trailer.
enum class Patch : std::uint8_t { kNone, kUdp4, kTcp4, kUdp6, kTcp6 };

/// The parts of a template that the packet loop needs.
struct Shape {
  const std::byte* bytes = nullptr;
  std::uint16_t length = 0;         ///< buffer: without FCS
  std::uint16_t ip_sum = 0;         ///< one's complement sums in native byte order, without the patched fields
  std::uint16_t transport_sum = 0;  ///< the same for the transport header
  std::uint32_t sequence = 0;       ///< TCP: from the message's first byte, host byte order
};

/// A packet.
struct PacketRef {
  std::uint32_t index = 0;     ///< index of its template
  std::uint32_t flow = 0;      ///< number in the flow space; of a capture: FrameTemplate::flow
  std::uint32_t sequence = 0;  ///< TCP: added to Shape::sequence
};

class Traffic {
 public:
  std::vector<FrameTemplate> templates;
  std::vector<Shape> shapes;  ///< by template
  Patch patch = Patch::kNone;
  std::uint32_t segments = 1;                 ///< templates of a message; they lie together in sending order
  std::vector<std::uint32_t> flow_order;      ///< slot of each message of a cycle
  std::vector<std::uint16_t> message_order;   ///< message at each place; empty: they take turns (captures), or there is only one
  std::vector<std::uint32_t> sequence_order;  ///< TCP: bytes that the slot sent before in this cycle
  std::vector<std::uint32_t> sequence_cycle;  ///< TCP: by slot, bytes that it sends in a cycle
  std::uint32_t slots = 1;                    ///< flows that are active at once
  double churn_per_s = 0;
  FlowSpace space{0};
  DueCycle recorded;               ///< times of a capture
  std::uint32_t max_frame = 0;     ///< with FCS
  std::vector<std::string> notes;  ///< inputs that were passed over, for warnings

  /// Fill `shapes`. Called when the templates are complete.
  void finish();
  /// Write addresses, ports, sequence number and checksums of a packet into the frame of its template, but not the trailer.
  void write_headers(const PacketRef& packet, std::byte* frame) const noexcept;
  /// Return the fields that the packet loop has to write. There are none if one flow lasts for ever, which the templates hold,
  /// and there is no sequence number.
  [[nodiscard]] Patch changes() const noexcept {
    return slots == 1 && churn_per_s <= 0 && (patch == Patch::kUdp4 || patch == Patch::kUdp6) ? Patch::kNone : patch;
  }
  /// Return the messages of a cycle.
  [[nodiscard]] std::uint64_t cycle() const { return flow_order.empty() ? templates.size() / segments : flow_order.size(); }
  /// Return the slot of a packet, or, for a capture, its flow. Losses are recorded by it.
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t number) const noexcept;
};

/// The place of a trial in the traffic. next() moves it on, and at() jumps.
class Cursor {
 public:
  explicit Cursor(const Traffic& traffic) : traffic_(&traffic), churn_(traffic.slots, traffic.churn_per_s) {}

  /// Return the next packet. @param due_ns  ascending; decides which generation of flows lives
  PacketRef next(std::uint64_t due_ns) noexcept {
    churn_.advance(due_ns);
    const PacketRef packet = here();
    if (++segment_ == traffic_->segments) {
      segment_ = 0;
      if (++message_ == cycle_) {
        message_ = 0;
        ++cycles_;
      }
    }
    return packet;
  }
  /// Write the next `n` packets to `packets`.
  void next(std::uint32_t n, const std::uint64_t* due_ns, PacketRef* packets) noexcept {
    if (!is_plain_ || message_ + n >= cycle_) {
      for (std::uint32_t i = 0; i < n; ++i) packets[i] = next(due_ns[i]);
      return;
    }
    const std::uint32_t* const flows = traffic_->flow_order.data() + message_;
    for (std::uint32_t i = 0; i < n; ++i) packets[i] = {.flow = flows[i]};
    if (!traffic_->message_order.empty()) {
      const std::uint16_t* const messages = traffic_->message_order.data() + message_;
      for (std::uint32_t i = 0; i < n; ++i) packets[i].index = messages[i];
    }
    message_ += n;
  }
  /// Return the packet of this number.
  PacketRef at(std::uint64_t number, std::uint64_t due_ns) noexcept {
    seek(number);
    churn_.advance(due_ns);
    return here();
  }
  void seek(std::uint64_t number) noexcept {
    const std::uint64_t message = number / traffic_->segments;
    segment_ = static_cast<std::uint32_t>(number % traffic_->segments);
    cycles_ = static_cast<std::uint32_t>(message / cycle_);
    message_ = message % cycle_;
  }

 private:
  [[nodiscard]] PacketRef here() const noexcept {
    PacketRef packet;
    if (traffic_->patch == Patch::kNone) {
      packet.index = static_cast<std::uint32_t>(message_);
      packet.flow = traffic_->templates[message_].flow;
      return packet;
    }
    const std::uint32_t slot = traffic_->flow_order[message_];
    if (!traffic_->message_order.empty()) packet.index = traffic_->message_order[message_] * traffic_->segments;
    packet.index += segment_;
    packet.flow = churn_.flow_of(slot);
    if (!traffic_->sequence_order.empty()) {
      packet.sequence = traffic_->sequence_order[message_] + cycles_ * traffic_->sequence_cycle[slot];
    }
    return packet;
  }

  const Traffic* traffic_;
  Churn churn_;
  /// Each packet is a message, and each slot keeps its flow for ever. It is the most common traffic, and the loop has the least
  /// time for it.
  bool is_plain_ = traffic_->patch != Patch::kNone && traffic_->segments == 1 && traffic_->churn_per_s <= 0 &&
                   traffic_->sequence_order.empty();
  std::uint64_t cycle_ = traffic_->cycle();
  std::uint64_t message_ = 0;
  std::uint32_t segment_ = 0;
  std::uint32_t cycles_ = 0;
};

/// Make the frames of the job's model. @throws Error on a frame size without room for headers and trailer, and on inputs that
/// are missing
std::unique_ptr<Traffic> model_traffic(const TrafficJob& job, inputs::Store& store, const EngineCatalog& engines);
/// Make the frames of the job's captures, one for each packet. @throws Error when none fits
std::unique_ptr<Traffic> captured_traffic(const TrafficJob& job, inputs::Store& store);

/// Return a frame of `length` bytes: Ethernet header, IP packet, and room behind it. @param length  at least the length of
/// header and packet
std::vector<std::byte> make_frame(std::span<const std::byte> ip, std::uint8_t version, std::uint32_t length);

}  // namespace dpubench::datapath
