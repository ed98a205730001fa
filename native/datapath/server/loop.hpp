// One core's loop, run to completion: it receives bursts, runs the stages and sends the results.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "datapath/job.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/server/measured_part.hpp"
#include "datapath/server/packet_record.hpp"
#include "datapath/server/poll_times.hpp"
#include "datapath/server/receive_work.hpp"
#include "datapath/stages/batch.hpp"
#include "datapath/stages/stage.hpp"
#include "measure/clock.hpp"
#include "measure/histogram.hpp"

namespace dpubench::datapath {

/// The ends of packets: received = transmitted + tx_full + dropped + held + away.
struct PacketCounts {
  std::uint64_t received = 0;
  std::uint64_t transmitted = 0;
  std::uint64_t tx_full = 0;
  std::array<std::uint64_t, kFates> dropped{};
  std::int64_t held = 0;  ///< kept by a stage now
  std::int64_t away = 0;  ///< at the next server, or lost on the way there and back
};

struct StageCost {
  std::uint64_t packets = 0;
  std::uint64_t sampled_packets = 0;
  std::uint64_t sampled_ticks = 0;
};

/// The counts of a loop in a trial.
struct LoopCounts {
  PacketCounts ours;    ///< packets of the trial
  PacketCounts others;  ///< packets without a valid trailer, and packets of other trials
  std::uint64_t stale = 0;
  std::uint64_t foreign = 0;
  std::uint64_t duplicates = 0;  ///< packets of `ours.received` whose number had been received before
  PollTimes polls;
  std::uint64_t first_ticks = 0;  ///< clock after the first burst (below: the last) with a packet of the trial; 0: none
  std::uint64_t last_ticks = 0;
  StageCost noting;        ///< reading trailers and parsing headers
  StageCost transmitting;  ///< giving packets to the ports
  std::vector<StageCost> stages;
  /// Starts and lengths, in ticks, of the longest intervals between two looks at the ports that work does not explain.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
};

struct LoopSpec {
  std::vector<Port*> ports;  ///< [0] faces the client, [1] the next server
  std::uint16_t queue = 0;
  int cpu = 0;
  std::uint32_t burst = 32;
  std::uint32_t sample_every = 16;
  bool shares_cpu = false;      ///< another loop runs on the CPU: yield when there is nothing to do
  TrialStart* start = nullptr;  ///< shared by the loops of a server; outlives them
};

/// A loop that runs on its own thread from its construction to its destruction. The thread owns everything in it. Other threads
/// reach it through call().
class Loop {
 public:
  using OpenStages = std::function<std::vector<std::unique_ptr<Stage>>()>;
  static constexpr double kGapNs = 50'000;
  /// An idle poll that takes longer was held up: no driver looks at an empty queue for so long, and a switch of threads takes
  /// longer.
  static constexpr double kHeldNs = 2'000;
  /// Interval at which stages are asked whether packets of a trial have come that no loop sees, until some have.
  static constexpr double kLookNs = 50'000;
  static constexpr std::size_t kMostGaps = 256;

  /// Start the loop, and return when it runs. @param open  called on its thread @throws what `open` throws
  Loop(LoopSpec spec, const OpenStages& open);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Run `work` on the loop's thread between two bursts, and return after it. Only one thread may call this. @throws what
  /// `work` throws
  void call(const std::function<void()>& work);

  [[nodiscard]] bool pinned() const { return pinned_; }
  [[nodiscard]] int cpu() const { return spec_.cpu; }

  /// Begin a trial. Only `work` of call() may call this function and those below.
  /// @param receive_work  the kernel's receive work on this loop's CPU
  void begin(std::uint32_t trial, const Beginning& how, ReceiveWork receive_work);
  /// End the trial, and keep its counts and record. Packets of the trial that still come are stale, and dropped.
  void end() noexcept;
  [[nodiscard]] const std::optional<MeasuredPart::Account>& measured() const { return part_.account(); }
  /// Return whether the time of the kernel's receive work was asked for and every reading of it succeeded.
  [[nodiscard]] bool knows_receive_work() const { return receive_work_.is_known() && !receive_work_failed_; }
  [[nodiscard]] const LoopCounts& counts() const { return counts_; }
  [[nodiscard]] const measure::Histogram& residence() const { return residence_; }
  [[nodiscard]] const PacketRecord& record() const { return record_; }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>>& stages() { return stages_; }

 private:
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  struct Noted {
    std::uint64_t number = kNoNumber;  ///< number of a packet of the trial
    bool stale = false;                ///< the packet belongs to another trial
  };
  struct Group {
    std::uint32_t n = 0;
    std::array<rte_mbuf*, kMaxPacketBurst> packets{};
    std::array<std::uint64_t, kMaxPacketBurst> numbers{};
    void add(rte_mbuf* packet, std::uint64_t number) noexcept {
      packets[n] = packet;
      numbers[n++] = number;
    }
  };

  void serve(const OpenStages& open, const std::function<void(std::exception_ptr)>& opened) noexcept;
  void run() noexcept;
  [[nodiscard]] bool safe_point() noexcept;
  void turn(std::size_t port) noexcept;
  void spend(std::uint64_t now) noexcept;
  void step_part(std::uint64_t now) noexcept;
  void look_elsewhere(std::uint64_t now) noexcept;
  [[nodiscard]] MeasuredPart::Reading reading() noexcept;
  void note_gap(std::uint64_t start, std::uint64_t length) noexcept;
  void idle(std::uint64_t now) noexcept;
  void note(std::uint64_t now) noexcept;
  [[nodiscard]] Noted note_number(std::span<const std::byte> frame) noexcept;
  [[nodiscard]] Noted number_of_chain(rte_mbuf* packet) noexcept;
  [[nodiscard]] std::uint64_t known_number(std::span<const std::byte> frame) const noexcept;
  void take_back(std::uint32_t first) noexcept;
  void send() noexcept;
  void sort_by_fate() noexcept;
  void drop(rte_mbuf* packet, std::uint64_t number, Fate fate) noexcept;
  void transmit(std::size_t port, rte_mbuf** packets, const std::uint64_t* numbers, std::uint32_t n) noexcept;
  void relay() noexcept;
  [[nodiscard]] PacketCounts& counts_of(std::uint64_t number) noexcept {
    return number == kNoNumber ? counts_.others : counts_.ours;
  }

  const LoopSpec spec_;
  const measure::Clock& clock_;
  const std::uint64_t gap_ticks_;
  const std::uint64_t look_ticks_ = clock_.from_ns(kLookNs);
  std::vector<std::unique_ptr<Stage>> stages_;
  bool parses_ = false;
  bool answers_elsewhere_ = false;  ///< a stage has packets that never come to a loop

  Batch batch_;
  std::array<std::uint64_t, kMaxPacketBurst> numbers_{};
  std::uint32_t ours_ = 0;  ///< packets of the burst that have a number
  Group back_;
  Group next_;
  Group dropped_;
  std::uint32_t until_sample_;
  std::uint64_t last_ticks_ = 0;     ///< the reading of the clock before this one
  std::uint32_t last_received_ = 0;  ///< packets of the poll that this reading followed
  std::uint32_t trial_ = 0;
  bool has_trial_ = false;
  MeasuredPart part_;
  std::uint64_t latest_due_ns_ = 0;  ///< due time of the packet of the trial that was noted last
  ReceiveWork receive_work_;
  bool receive_work_failed_ = false;
  std::uint64_t ran_before_ns_ = 0;     ///< receive work before the trial
  std::uint64_t looked_elsewhere_ = 0;  ///< time of the last look
  LoopCounts counts_;
  measure::Histogram residence_;
  PacketRecord record_;

  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> answered_ = 0;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr error_;
  bool stop_ = false;
  bool pinned_ = true;
  std::thread thread_;
};

}  // namespace dpubench::datapath
