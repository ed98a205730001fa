// One core's loop: receives bursts, runs the stages, and sends what came of them. Run to completion.
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
#include "datapath/server/batch.hpp"
#include "datapath/server/measured_part.hpp"
#include "datapath/server/packet_record.hpp"
#include "datapath/server/poll_times.hpp"
#include "datapath/server/receive_work.hpp"
#include "datapath/server/stage.hpp"
#include "measure/clock.hpp"
#include "measure/histogram.hpp"

namespace dpubench::datapath {

/// Where packets went. received = transmitted + tx_full + dropped + held + next.
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

/// What a loop counts in a trial.
struct LoopCounts {
  PacketCounts ours;    ///< packets of the trial
  PacketCounts others;  ///< those without a valid trailer, and of other trials
  std::uint64_t stale = 0;
  std::uint64_t foreign = 0;
  std::uint64_t duplicates = 0;  ///< of `ours.received`: a number that had been received before
  PollTimes polls;
  std::uint64_t first_ticks = 0;  ///< after the first burst that held a packet of the trial, and the last; 0: none
  std::uint64_t last_ticks = 0;
  StageCost noting;        ///< reading trailers and parsing headers
  StageCost transmitting;  ///< giving packets to the ports
  std::vector<StageCost> stages;
  /// Starts and lengths of intervals between two looks at the ports that work does not explain, the longest of them.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
};

struct LoopSpec {
  std::vector<Port*> ports;  ///< [0] faces the client, [1] the next server
  std::uint16_t queue = 0;
  int cpu = 0;
  std::uint32_t burst = 32;
  std::uint32_t sample_every = 16;
  bool shares_cpu = false;      ///< with another loop: gives the CPU away when there is nothing to do
  TrialStart* start = nullptr;  ///< shared by the loops of a server; outlives them
};

/// Runs on a thread of its own from its construction to its destruction. The thread owns everything in it; others get at it
/// through call().
class Loop {
 public:
  using OpenStages = std::function<std::vector<std::unique_ptr<Stage>>()>;
  static constexpr double kGapNs = 50'000;
  /// An idle poll that takes longer was held up: no driver's look at an empty queue takes so long, and a change of threads does.
  static constexpr double kHeldNs = 2'000;
  /// How often a stage is asked whether packets of a trial have come that no loop sees, until some have.
  static constexpr double kLookNs = 50'000;
  static constexpr std::size_t kMostGaps = 256;

  /// Returns when the loop runs. @param open  called on its thread @throws what `open` throws, Error when the CPU is unknown
  Loop(LoopSpec spec, const OpenStages& open);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs `work` on the loop's thread between two bursts, and returns after it. For one thread. @throws what `work` throws
  void call(const std::function<void()>& work);

  [[nodiscard]] bool pinned() const { return pinned_; }
  [[nodiscard]] int cpu() const { return spec_.cpu; }

  /// For `work` of call() alone:
  /// @param receive_work  of the kernel on this loop's CPU
  void begin(std::uint32_t trial, const Beginning& how, ReceiveWork receive_work);
  /// Counts and record stay as they are: packets of the trial that still come are stale, and dropped.
  void end() noexcept;
  [[nodiscard]] const std::optional<MeasuredPart::Account>& measured() const { return part_.account(); }
  /// Whether the time of the kernel's receive work was told, wherever it was asked for.
  [[nodiscard]] bool knows_receive_work() const { return receive_work_.is_known() && !receive_work_failed_; }
  [[nodiscard]] const LoopCounts& counts() const { return counts_; }
  [[nodiscard]] const measure::Histogram& residence() const { return residence_; }
  [[nodiscard]] const PacketRecord& record() const { return record_; }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>>& stages() { return stages_; }

 private:
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  struct Noted {
    std::uint64_t number = kNoNumber;  ///< of a packet of the trial
    bool stale = false;                ///< of another trial
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
  bool answers_elsewhere_ = false;  ///< a stage's packets never come here

  Batch batch_;
  std::array<std::uint64_t, kMaxPacketBurst> numbers_{};
  std::uint32_t ours_ = 0;  ///< packets of the burst that have a number
  Group back_;
  Group next_;
  Group dropped_;
  std::uint32_t until_sample_;
  std::uint64_t last_ticks_ = 0;     ///< reading before this one
  std::uint32_t last_received_ = 0;  ///< packets of the poll that it followed
  std::uint32_t trial_ = 0;
  bool has_trial_ = false;
  MeasuredPart part_;
  std::uint64_t latest_due_ns_ = 0;  ///< of the packets of the trial that were noted last
  ReceiveWork receive_work_;
  bool receive_work_failed_ = false;
  std::uint64_t ran_before_ns_ = 0;     ///< receive work before the trial
  std::uint64_t looked_elsewhere_ = 0;  ///< when
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
