#include "datapath/server/loop.hpp"

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <sched.h>

#include <algorithm>
#include <future>

#include "base/error.hpp"
#include "datapath/frame/trailer.hpp"

namespace dpubench::datapath {
namespace {

using measure::Clock;

/// Work explains an interval of up to this many times the average time of its packets.
constexpr double kExplained = 8;

/// A timer of the parts of a sampled burst. Of other bursts it only counts packets.
class Sampler {
 public:
  Sampler(const Clock& clock, bool on, std::uint64_t now) : clock_(clock), on_(on), at_(now) {}
  /// Charge the time since the last part to `part`, which worked on `packets`.
  void mark(StageCost& part, std::uint32_t packets) noexcept {
    part.packets += packets;
    if (!on_) return;
    const std::uint64_t now = clock_.ticks();
    part.sampled_packets += packets;
    part.sampled_ticks += now - at_;
    at_ = now;
  }
  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }

 private:
  const Clock& clock_;
  const bool on_;
  std::uint64_t at_;
};

bool pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

/// The registration of a thread with the EAL. It gives the thread its own cache in every pool of packets.
class KnownThread {
 public:
  KnownThread() : known_(rte_thread_register() == 0) {}
  ~KnownThread() {
    if (known_) rte_thread_unregister();
  }
  KnownThread(const KnownThread&) = delete;
  KnownThread& operator=(const KnownThread&) = delete;

 private:
  bool known_;
};

}  // namespace

Loop::Loop(LoopSpec spec, const OpenStages& open)
    : spec_(std::move(spec)),
      clock_(Clock::instance()),
      gap_ticks_(clock_.from_ns(kGapNs)),
      until_sample_(spec_.sample_every),
      part_(*spec_.start) {
  std::promise<void> opened;
  thread_ = std::thread([this, &open, &opened] {
    serve(open, [&opened](const std::exception_ptr& error) {
      if (error != nullptr) {
        opened.set_exception(error);
      } else {
        opened.set_value();
      }
    });
  });
  try {
    opened.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Loop::~Loop() {
  call([this] { stop_ = true; });
  thread_.join();
}

void Loop::serve(const OpenStages& open, const std::function<void(std::exception_ptr)>& opened) noexcept {
  pinned_ = pin_to(spec_.cpu);
  const KnownThread known;
  try {
    stages_ = open();
    parses_ = std::any_of(stages_.begin(), stages_.end(), [](const auto& stage) { return stage->reads_headers(); });
    answers_elsewhere_ =
        std::any_of(stages_.begin(), stages_.end(), [](const auto& stage) { return stage->elsewhere().has_value(); });
    counts_.stages.resize(stages_.size());
    counts_.gaps.reserve(kMostGaps);
  } catch (...) {
    stages_.clear();
    opened(std::current_exception());
    return;
  }
  opened(nullptr);
  run();
  stages_.clear();
}

void Loop::call(const std::function<void()>& work) {
  work_ = &work;
  error_ = nullptr;
  const std::uint64_t before = asked_.fetch_add(1, std::memory_order_release);
  answered_.wait(before, std::memory_order_acquire);
  if (error_ != nullptr) std::rethrow_exception(error_);
}

bool Loop::safe_point() noexcept {
  try {
    (*work_)();
  } catch (...) {
    error_ = std::current_exception();
  }
  const bool goes_on = !stop_;
  last_ticks_ = clock_.ticks();
  last_received_ = 0;
  answered_.store(asked_.load(std::memory_order_acquire), std::memory_order_release);
  answered_.notify_one();
  return goes_on;
}

void Loop::begin(std::uint32_t trial, const Beginning& how, ReceiveWork receive_work) {
  counts_ = {};
  counts_.polls = PollTimes(clock_.from_ns(kHeldNs));
  counts_.stages.resize(stages_.size());
  counts_.gaps.reserve(kMostGaps);
  residence_.clear();
  record_.clear();
  trial_ = trial;
  has_trial_ = true;
  until_sample_ = spec_.sample_every;
  for (const auto& stage : stages_) stage->begin(how.keeps_flows);
  receive_work_ = std::move(receive_work);
  receive_work_failed_ = false;
  ran_before_ns_ = reading().receive_work_ns;
  looked_elsewhere_ = 0;
  part_.begin(clock_.from_ns(how.ramp_s * 1e9), clock_.from_ns(how.duration_s * 1e9));
}

void Loop::end() noexcept {
  has_trial_ = false;
  // The polls are added up to last_ticks_.
  if (part_.is_open()) part_.close(last_ticks_, counts_.polls, reading());
}

void Loop::run() noexcept {
  last_ticks_ = clock_.ticks();
  const std::size_t ports = spec_.ports.size();
  while (asked_.load(std::memory_order_acquire) == answered_.load(std::memory_order_relaxed) || safe_point()) {
    for (std::size_t port = 0; port < ports; ++port) turn(port);
  }
}

void Loop::turn(std::size_t port) noexcept {
  batch_.n = spec_.ports[port]->receive(spec_.queue, batch_.packets.data(), static_cast<std::uint16_t>(spec_.burst));
  const std::uint64_t now = clock_.ticks();
  spend(now);
  if (part_.is_due(now)) [[unlikely]]
    step_part(now);
  last_received_ = batch_.n;
  if (batch_.n == 0) return idle(now);
  if (port != 0) return relay();
  batch_.received_ticks = now;
  const bool sampled = --until_sample_ == 0;
  if (sampled) until_sample_ = spec_.sample_every;

  Sampler sampler(clock_, sampled, now);
  const std::uint32_t received = batch_.n;
  note(now);
  sampler.mark(counts_.noting, received);
  for (std::size_t i = 0; i < stages_.size(); ++i) sampler.mark(counts_.stages[i], stages_[i]->run(batch_));
  if (batch_.n != received) take_back(received);
  send();
  sampler.mark(counts_.transmitting, batch_.n);
  if (sampled) residence_.record(static_cast<std::uint64_t>(clock_.to_ns(sampler.at() - now)), batch_.n);
}

void Loop::spend(std::uint64_t now) noexcept {
  const std::uint64_t length = now - last_ticks_;
  bool is_long = length > gap_ticks_;
  PollTimes& polls = counts_.polls;
  if (is_long && last_received_ != 0 && polls.packets != 0) {
    const double mean = static_cast<double>(polls.busy_ticks) / static_cast<double>(polls.packets);
    is_long = static_cast<double>(length) > kExplained * mean * last_received_;
  }
  polls.spend(length, last_received_);
  if (is_long) [[unlikely]]
    note_gap(last_ticks_, length);
  last_ticks_ = now;
}

/// Open or close the measured part when it is time. The time that the reading takes lies outside the part.
void Loop::step_part(std::uint64_t now) noexcept {
  if (part_.awaits()) look_elsewhere(now);
  const MeasuredPart::Step step = part_.step(now);
  if (step == MeasuredPart::Step::kNone) return;
  const MeasuredPart::Reading counted = reading();
  for (const auto& stage : stages_) stage->measured(step == MeasuredPart::Step::kOpens);
  if (step == MeasuredPart::Step::kCloses) return part_.close(now, counts_.polls, counted);
  last_ticks_ = clock_.ticks();
  part_.open(last_ticks_, counts_.polls, counted);
}

/// Tell the trial's start from the number of packets that never come here. The kernel may have kept this loop from looking for
/// as long as it worked on them, so its time is subtracted.
void Loop::look_elsewhere(std::uint64_t now) noexcept {
  if (!answers_elsewhere_ || now - looked_elsewhere_ < look_ticks_ || spec_.start->get()) return;
  looked_elsewhere_ = now;
  const auto answered = [](const auto& stage) { return stage->elsewhere().value_or(0) != 0; };
  if (std::none_of(stages_.begin(), stages_.end(), answered)) return;
  const std::uint64_t ran_ns = reading().receive_work_ns - ran_before_ns_;
  part_.saw(now, clock_.from_ns(static_cast<double>(ran_ns)));
}

MeasuredPart::Reading Loop::reading() noexcept {
  const std::optional<std::uint64_t> ran_ns = receive_work_.ran_ns();
  receive_work_failed_ = receive_work_failed_ || !ran_ns;
  return {.received = counts_.ours.received, .receive_work_ns = ran_ns.value_or(0)};
}

void Loop::note_gap(std::uint64_t start, std::uint64_t length) noexcept {
  auto& gaps = counts_.gaps;
  if (gaps.size() < kMostGaps) {
    if (gaps.size() < gaps.capacity()) gaps.emplace_back(start, length);
    return;
  }
  const auto shortest =
      std::min_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (shortest->second < length) *shortest = {start, length};
}

void Loop::idle(std::uint64_t now) noexcept {
  const auto now_ns = static_cast<std::uint64_t>(clock_.to_ns(now));
  for (const auto& stage : stages_) stage->idle(now_ns);
  if (spec_.shares_cpu) sched_yield();
  // Polls without a pause take the ring's cache lines from the side that fills the ring. They also take a share of the core
  // from that side if it runs on the sibling thread.
  rte_pause();
}

void Loop::note(std::uint64_t now) noexcept {
  ours_ = 0;
  for (std::uint32_t i = 0; i < batch_.n; ++i) {
    rte_mbuf* const packet = batch_.packets[i];
    const bool whole = packet->nb_segs == 1 || rte_pktmbuf_linearize(packet) == 0;
    batch_.mark[i] = 0;
    const Noted noted = whole ? note_number(batch_.frame(i)) : number_of_chain(packet);
    numbers_[i] = noted.number;
    batch_.fate[i] = noted.stale ? Fate::kDropStale : whole ? Fate::kForward : Fate::kDropNoRoom;
    ours_ += numbers_[i] == kNoNumber ? 0 : 1;
    if (parses_) batch_.parsed[i] = packet::parse(batch_.frame(i));
  }
  counts_.ours.received += ours_;
  counts_.others.received += batch_.n - ours_;
  if (ours_ == 0) return;
  if (part_.awaits()) part_.saw(now, clock_.from_ns(static_cast<double>(latest_due_ns_)));
  if (counts_.first_ticks == 0) counts_.first_ticks = now;
  counts_.last_ticks = now;
}

Loop::Noted Loop::note_number(std::span<const std::byte> frame) noexcept {
  const std::optional<Trailer> trailer = read_trailer(frame);
  if (!trailer || trailer->number >= PacketRecord::kMostPackets) {
    ++counts_.foreign;
    return {};
  }
  if (!has_trial_ || !belongs_to(*trailer, static_cast<std::uint32_t>(frame.size()), trial_)) {
    ++counts_.stale;
    return {.stale = true};
  }
  latest_due_ns_ = trailer->due_ns;
  if (!record_.receive(trailer->number)) ++counts_.duplicates;
  return {.number = trailer->number};
}

Loop::Noted Loop::number_of_chain(rte_mbuf* packet) noexcept {
  // Read the end of the packet: enough of it to tell which form of trailer it has.
  std::array<std::byte, kLeastFullFrame> room;
  const std::uint32_t length = std::min<std::uint32_t>(packet->pkt_len, kLeastFullFrame);
  const void* const end = rte_pktmbuf_read(packet, packet->pkt_len - length, length, room.data());
  return note_number({static_cast<const std::byte*>(end), length});
}

std::uint64_t Loop::known_number(std::span<const std::byte> frame) const noexcept {
  const std::optional<Trailer> trailer = read_trailer(frame);
  const bool known = trailer && has_trial_ && trailer->number < PacketRecord::kMostPackets &&
                     belongs_to(*trailer, static_cast<std::uint32_t>(frame.size()), trial_);
  return known ? trailer->number : kNoNumber;
}

void Loop::take_back(std::uint32_t first) noexcept {
  for (std::uint32_t i = first; i < batch_.n; ++i) {
    numbers_[i] = known_number(batch_.frame(i));
    --counts_of(numbers_[i]).held;
  }
}

void Loop::send() noexcept {
  std::uint8_t fates = 0;
  static_assert(static_cast<std::uint8_t>(Fate::kForward) == 0);
  for (std::uint32_t i = 0; i < batch_.n; ++i) fates |= static_cast<std::uint8_t>(batch_.fate[i]);
  if (fates == 0) return transmit(0, batch_.packets.data(), numbers_.data(), batch_.n);
  sort_by_fate();
  if (back_.n != 0) transmit(0, back_.packets.data(), back_.numbers.data(), back_.n);
  if (next_.n != 0) transmit(1, next_.packets.data(), next_.numbers.data(), next_.n);
  if (dropped_.n != 0) rte_pktmbuf_free_bulk(dropped_.packets.data(), dropped_.n);
}

void Loop::sort_by_fate() noexcept {
  back_.n = next_.n = dropped_.n = 0;
  for (std::uint32_t i = 0; i < batch_.n; ++i) {
    const Fate fate = batch_.fate[i];
    if (fate == Fate::kForward) {
      back_.add(batch_.packets[i], numbers_[i]);
    } else if (fate == Fate::kHeld) {
      ++counts_of(numbers_[i]).held;
    } else if (fate == Fate::kNext && spec_.ports.size() > 1) {
      next_.add(batch_.packets[i], numbers_[i]);
    } else {
      drop(batch_.packets[i], numbers_[i], fate == Fate::kNext ? Fate::kDropFailed : fate);
    }
  }
}

void Loop::drop(rte_mbuf* packet, std::uint64_t number, Fate fate) noexcept {
  ++counts_of(number).dropped[static_cast<std::size_t>(fate)];
  if (number != kNoNumber) record_.drop(number, fate);
  dropped_.add(packet, number);
}

void Loop::transmit(std::size_t port, rte_mbuf** packets, const std::uint64_t* numbers, std::uint32_t n) noexcept {
  const std::uint32_t sent = spec_.ports[port]->transmit(spec_.queue, packets, static_cast<std::uint16_t>(n));
  std::uint32_t ours = 0;
  for (std::uint32_t i = 0; i < sent; ++i) ours += numbers[i] == kNoNumber ? 0 : 1;
  if (port == 0) {
    counts_.ours.transmitted += ours;
    counts_.others.transmitted += sent - ours;
  } else {
    counts_.ours.away += ours;
    counts_.others.away += sent - ours;
  }
  if (sent == n) return;
  for (std::uint32_t i = sent; i < n; ++i) {
    ++counts_of(numbers[i]).tx_full;
    if (numbers[i] != kNoNumber) record_.tx_full(numbers[i]);
  }
  rte_pktmbuf_free_bulk(packets + sent, n - sent);
}

void Loop::relay() noexcept {
  for (std::uint32_t i = 0; i < batch_.n; ++i) {
    numbers_[i] = known_number(batch_.frame(i));
    --counts_of(numbers_[i]).away;
  }
  transmit(0, batch_.packets.data(), numbers_.data(), batch_.n);
}

}  // namespace dpubench::datapath
