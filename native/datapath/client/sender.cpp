#include "datapath/client/sender.hpp"

#include <algorithm>

namespace dpubench::datapath {

Sender::~Sender() {
  if (waiting_ > 0) rte_pktmbuf_free_bulk(packets_.data(), waiting_);
}

void Sender::begin(const TrialTimes& times, DueTimes& due, bool is_flood, std::uint64_t most) {
  if (waiting_ > 0) rte_pktmbuf_free_bulk(packets_.data(), waiting_);
  waiting_ = 0;
  times_ = times;
  due_ = &due;
  is_flood_ = is_flood;
  measuring_ = false;
  most_ = most;
  number_ = 0;
  first_ = 0;
  counts_ = {};
  lag_.clear();
  unsent_ = Bitmap(most);
  progress_ = 0;
}

/// Count a burst. @param n  packets of the burst, of which the port took the first `taken` @param before  packets at its
/// beginning that do not count yet
void Sender::count(std::uint32_t n, std::uint32_t taken, std::uint32_t before, std::uint64_t now_ns) noexcept {
  for (std::uint32_t i = taken; i < n; ++i) unsent_.set(number_ + i);
  number_ += n;
  progress_.store(progress_.load(std::memory_order_relaxed) + taken, std::memory_order_relaxed);
  if (before == n) return;
  if (counts_.first_ns == 0) counts_.first_ns = now_ns;
  counts_.last_ns = now_ns;
  for (std::uint32_t i = before; i < taken; ++i) counts_.sent_bytes += bytes_[i];
  const std::uint32_t counted = taken > before ? taken - before : 0;
  counts_.sent += counted;
  counts_.tx_full += n - before - counted;
}

bool Sender::send_due(std::uint64_t now_ns) noexcept {
  const std::uint64_t* const due = due_->ready();
  const std::uint64_t until = std::min(now_ns, times_.end_ns - 1);
  std::uint32_t n = 0;
  while (n < burst_ && due[n] <= until) ++n;
  // The trial is over when the next packet is due behind its end, or when it is too late to send.
  if (n == 0) return due[0] < times_.end_ns;
  if (now_ns > times_.end_ns + kGraceNs) return false;
  std::uint32_t before = 0;
  if (!measuring_) {
    while (before < n && due[before] < times_.ramp_ns) ++before;
    measuring_ = before < n;
    first_ = number_ + before;
  }
  lag_.record_since(now_ns, due + before, n - before);
  const std::uint32_t filled = writer_.fill(n, due, packets_.data(), bytes_.data());
  const std::uint32_t taken = port_.transmit(0, packets_.data(), static_cast<std::uint16_t>(filled));
  if (taken < filled) rte_pktmbuf_free_bulk(packets_.data() + taken, filled - taken);
  due_->take(n);
  count(n, taken, before, now_ns);
  return true;
}

bool Sender::flood(std::uint64_t now_ns) noexcept {
  if (now_ns >= times_.end_ns || number_ + burst_ > most_) return false;
  if (waiting_ < burst_) {
    std::array<std::uint64_t, kMaxPacketBurst> due;
    const std::uint32_t n = burst_ - waiting_;
    std::fill_n(due.begin(), n, now_ns);
    const std::uint32_t filled = writer_.fill(n, due.data(), packets_.data() + waiting_, bytes_.data() + waiting_);
    // A packet without a buffer does not count: take its number back.
    if (filled < n) writer_.step_back(n - filled);
    waiting_ += filled;
  }
  const std::uint32_t taken = port_.transmit(0, packets_.data(), static_cast<std::uint16_t>(waiting_));
  if (taken == 0) return true;
  if (!measuring_ && now_ns >= times_.ramp_ns) {
    measuring_ = true;
    first_ = number_;
  }
  count(taken, taken, measuring_ ? 0 : taken, now_ns);
  if (taken < waiting_) {
    std::move(packets_.begin() + taken, packets_.begin() + waiting_, packets_.begin());
    std::move(bytes_.begin() + taken, bytes_.begin() + waiting_, bytes_.begin());
  }
  waiting_ -= taken;
  return true;
}

}  // namespace dpubench::datapath
