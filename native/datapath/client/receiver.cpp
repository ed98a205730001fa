#include "datapath/client/receiver.hpp"

#include <algorithm>
#include <cstring>

#include "datapath/frame/trailer.hpp"

namespace dpubench::datapath {
namespace {

/// Return whether a frame carries the client's addresses, in either direction.
bool is_ours(std::span<const std::byte> frame) {
  if (frame.size() < kEthernetBytes) return false;
  const auto holds = [&frame](std::size_t at, const std::array<std::uint8_t, 6>& mac) {
    return std::memcmp(frame.data() + at, mac.data(), mac.size()) == 0;
  };
  return (holds(0, kServerMac) && holds(6, kClientMac)) || (holds(0, kClientMac) && holds(6, kServerMac));
}

}  // namespace

Receiver::Receiver(Port& port, const Traffic& traffic, Expectation* expectation, std::uint32_t burst, bool verify_all, bool reads)
    : port_(port),
      traffic_(traffic),
      expectation_(expectation),
      burst_(burst),
      verify_all_(verify_all),
      reads_(reads),
      cursor_(traffic),
      sent_(traffic.max_frame) {}

Receiver::~Receiver() {
  if (waiting_ > 0) rte_pktmbuf_free_bulk(packets_.data(), waiting_);
}

void Receiver::begin(std::uint32_t trial, const TrialTimes& times, const Sender& sender, bool with_latency, std::uint64_t most) {
  trial_ = trial;
  times_ = times;
  sender_ = &sender;
  with_latency_ = with_latency;
  next_expected_ = 0;
  counts_ = {};
  latency_.clear();
  seen_ = Bitmap(most);
  lossy_ = Bitmap(traffic_.slots);
  lossy_until_ = 0;
  cursor_ = Cursor(traffic_);
  first_wrong_.clear();
  progress_ = 0;
}

void Receiver::account_all(std::uint64_t now_ns) noexcept {
  for (std::uint32_t i = 0; i < waiting_; ++i) {
    rte_mbuf* const packet = packets_[i];
    // A chain of buffers that cannot be joined is no frame that was sent.
    const bool whole = packet->nb_segs == 1 || rte_pktmbuf_linearize(packet) == 0;
    account_one({rte_pktmbuf_mtod(packet, const std::byte*), whole ? packet->data_len : std::size_t{0}}, now_ns);
  }
  rte_pktmbuf_free_bulk(packets_.data(), waiting_);
  progress_.store(progress_.load(std::memory_order_relaxed) + waiting_, std::memory_order_relaxed);
  waiting_ = 0;
}

void Receiver::no_packet(std::span<const std::byte> frame) noexcept {
  ++(is_ours(frame) ? counts_.corrupted : counts_.foreign);
}

void Receiver::account_one(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept {
  const std::optional<Trailer> trailer = read_trailer(frame);
  const auto length = static_cast<std::uint32_t>(frame.size());
  if (!trailer || !belongs_to(*trailer, length, trial_) || trailer->number >= sender_->end()) {
    if (now_ns < times_.ramp_ns) return;
    if (!trailer) return no_packet(frame);
    ++counts_.stale;
    return;
  }
  const std::uint64_t number = trailer->number;
  const bool counts = number >= sender_->first();
  if (seen_.exchange(number)) {
    counts_.duplicates += counts ? 1 : 0;
    return;
  }
  const bool is_late = number < next_expected_;
  next_expected_ = std::max(next_expected_, number + 1);
  if (!counts) return;
  counts_.reordered += is_late ? 1 : 0;
  counts_.received_bytes += length + kFcsBytes;
  if (with_latency_) {
    // The compact trailer's 40 bits wrap around after 18 minutes.
    const std::uint64_t mask = length < kLeastFullFrame ? (std::uint64_t{1} << 40) - 1 : ~std::uint64_t{0};
    latency_.record((now_ns - trailer->due_ns) & mask);
  }
  if (verify_all_ || counts_.received % kSampleEvery == 0) verify(*trailer, frame);
  ++counts_.received;
}

/// Return whether a packet of the same flow with a lower number has not come back: lost, or late. Each number is looked at once.
bool Receiver::is_lossy(std::uint64_t number) noexcept {
  for (; lossy_until_ < number; ++lossy_until_) {
    if (!seen_.test(lossy_until_)) lossy_.set(traffic_.slot_of(lossy_until_));
  }
  return lossy_.test(traffic_.slot_of(number));
}

void Receiver::verify(const Trailer& trailer, std::span<const std::byte> reply) noexcept {
  if (expectation_ == nullptr) return;
  const PacketRef packet = cursor_.at(trailer.number, trailer.due_ns);
  if (packet.index != trailer.frame) return report_wrong(trailer.number, "its trailer names another frame than the one sent");
  const Shape& shape = traffic_.shapes[packet.index];
  std::memcpy(sent_.data(), shape.bytes, shape.length);
  traffic_.write_headers(packet, sent_.data());
  write_trailer({sent_.data(), shape.length}, trailer);
  const std::span<const std::byte> sent(sent_.data(), shape.length);
  Expectation::Answer answer = expectation_->judge(packet.index, sent, reply, false);
  // A flow that took another's place may have begun in the middle of a message.
  const bool may_lack_begin = traffic_.segments > 1 && packet.flow >= traffic_.slots;
  if (answer == Expectation::Answer::kWrong && (may_lack_begin || is_lossy(trailer.number))) {
    answer = expectation_->judge(packet.index, sent, reply, true);
  }
  if (answer == Expectation::Answer::kRight) return;
  if (answer == Expectation::Answer::kCannotTell) {
    ++counts_.undecided;
    return;
  }
  report_wrong(trailer.number, first_wrong_.empty() ? expectation_->explain(packet.index, sent, reply) : std::string());
}

void Receiver::report_wrong(std::uint64_t number, const std::string& what) {
  ++counts_.wrong;
  if (first_wrong_.empty()) first_wrong_ = "packet " + std::to_string(number) + ": " + what;
}

}  // namespace dpubench::datapath
