// The receiving half of the client's loop: it counts the replies and checks whether they are right.
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
#include "datapath/frame/trailer.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/workloads/workload.hpp"
#include "measure/histogram.hpp"

namespace dpubench::datapath {

/// The account of every frame that comes in, by the packet number in its trailer.
class Receiver {
 public:
  static constexpr std::uint64_t kSampleEvery = 16;  ///< with `verify` "sampled", one reply of so many is compared in full

  /// @param expectation  may be null: then only the trailer is checked @param reads  false: replies are not read
  Receiver(Port& port, const Traffic& traffic, Expectation* expectation, std::uint32_t burst, bool verify_all, bool reads);
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver();

  /// Begin a trial. @param sender  knows which packets count and were sent @param with_latency  packets have due times
  void begin(std::uint32_t trial, const TrialTimes& times, const Sender& sender, bool with_latency, std::uint64_t most);

  /// Bring the bits of all packets into memory.
  void touch() { seen_.touch(seen_.bits()); }

  void receive() noexcept {
    if (reads_) waiting_ = port_.receive(0, packets_.data(), static_cast<std::uint16_t>(burst_));
  }
  /// Account for the packets received last. @param now_ns  the reading behind their receive burst
  void account(std::uint64_t now_ns) noexcept {
    if (waiting_ > 0) account_all(now_ns);
  }

  /// The counts of the measured part. A packet of the trial belongs to it by its due time, any other frame by its arrival.
  struct Counts {
    std::uint64_t received = 0;  ///< each packet once
    std::uint64_t received_bytes = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;  ///< RFC 4737, section 3.3: below the highest number seen
    std::uint64_t corrupted = 0;  ///< frames with the client's addresses and a wrong checksum in the trailer
    std::uint64_t wrong = 0;      ///< replies that are not what must come back
    std::uint64_t undecided = 0;  ///< replies that depend on packets that were lost
    std::uint64_t stale = 0;      ///< packets of another trial, and numbers that were never sent
    std::uint64_t foreign = 0;    ///< frames of others: neighbour discovery and the like
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
  Bitmap lossy_;  ///< by slot: one of its packets has not come back
  std::uint64_t lossy_until_ = 0;
  Cursor cursor_;
  std::vector<std::byte> sent_;  ///< room for a frame as it was sent
  std::string first_wrong_;
  std::atomic<std::uint64_t> progress_ = 0;
  std::array<rte_mbuf*, kMaxPacketBurst> packets_{};
};

}  // namespace dpubench::datapath
