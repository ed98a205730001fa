// The receiving half of the client's loop: what came back, and whether it is right.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/client/bitmap.hpp"
#include "datapath/client/sender.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/workloads/workload.hpp"
#include "measure/histogram.hpp"

namespace dpubench::datapath {

/// Accounts for every frame that comes in, by the sequence number in its trailer.
class Receiver {
 public:
  static constexpr std::uint64_t kSampleEvery = 16;  ///< of `verify` "sampled": replies that are compared in full

  /// @param expectation  may be null: nothing is compared but the trailer @param reads  false: what comes back is not read
  Receiver(Port& port, const Traffic& traffic, Expectation* expectation, std::uint32_t burst, bool verify_all, bool reads);
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver();

  /// Begins a trial. @param sender  knows which packets count and were sent @param with_latency  packets have due times
  void begin(std::uint32_t trial, const TrialTimes& times, const Sender& sender, bool with_latency, std::uint64_t most);

  /// Brings the bits of all packets into memory.
  void touch() { seen_.touch(seen_.bits()); }

  void receive() noexcept {
    if (reads_) waiting_ = port_.receive(0, packets_.data(), static_cast<std::uint16_t>(burst_));
  }
  /// Of the packets received last. @param now_ns  the reading behind their receive burst
  void account(std::uint64_t now_ns) noexcept {
    if (waiting_ > 0) account_all(now_ns);
  }

  /// Of the measured part: packets by the time that they were due, what is no packet of the trial by the time that it came.
  struct Counts {
    std::uint64_t received = 0;  ///< each packet once
    std::uint64_t received_bytes = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;  ///< RFC 4737, section 3.3: below the highest number seen
    std::uint64_t corrupted = 0;  ///< a frame of the client's with a trailer whose checksum is wrong
    std::uint64_t wrong = 0;      ///< not what must come back
    std::uint64_t undecided = 0;  ///< the answer depends on packets that were lost
    std::uint64_t stale = 0;      ///< of another trial
    std::uint64_t foreign = 0;    ///< nobody's: neighbour discovery and the like
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const measure::Histogram& latency() const { return latency_; }
  [[nodiscard]] const Bitmap& seen() const { return seen_; }
  [[nodiscard]] const std::string& first_wrong() const { return first_wrong_; }
  [[nodiscard]] const std::atomic<std::uint64_t>& progress() const { return progress_; }

 private:
  void account_all(std::uint64_t now_ns) noexcept;
  void account_one(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept;
  void no_packet(std::span<const std::byte> frame) noexcept;
  void verify(const Trailer& trailer, std::span<const std::byte> reply) noexcept;
  void report_wrong(std::uint64_t number, const std::string& what);
  bool is_lossy(std::uint64_t number) noexcept;

  Port& port_;
  const Traffic& traffic_;
  Expectation* expectation_;
  std::uint32_t burst_;
  bool verify_all_;
  bool reads_;
  const Sender* sender_ = nullptr;
  TrialTimes times_;
  std::uint32_t trial_ = 0;
  bool with_latency_ = true;
  std::uint32_t waiting_ = 0;
  std::uint64_t next_expected_ = 0;  ///< one above the highest number seen
  Counts counts_;
  measure::Histogram latency_;
  Bitmap seen_;
  Bitmap lossy_;  ///< by slot
  std::uint64_t lossy_until_ = 0;
  Cursor cursor_;
  std::vector<std::byte> sent_;  ///< room for a frame as it was sent
  std::string first_wrong_;
  std::atomic<std::uint64_t> progress_ = 0;
  std::array<rte_mbuf*, kMaxPacketBurst> packets_{};
};

}  // namespace dpubench::datapath
