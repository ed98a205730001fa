// The sending half of the client's loop.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "datapath/client/bitmap.hpp"
#include "datapath/client/schedule.hpp"
#include "datapath/client/writer.hpp"
#include "datapath/ports/port.hpp"
#include "measure/histogram.hpp"

namespace dpubench::datapath {

/// The ends of a trial's parts, in ns from its start.
struct TrialTimes {
  std::uint64_t ramp_ns = 0;  ///< end of the ramp: packets that are due from here on count
  std::uint64_t end_ns = 0;   ///< end of the measured part
};

/// The sender of the packets that are due. It sends no packet twice. Packets are numbered in the order in which they are due,
/// whether they are sent or not.
class Sender {
 public:
  /// Time for packets that are due and unsent when the measured part is over. After that the client has missed its schedule.
  static constexpr std::uint64_t kGraceNs = 10'000'000;

  /// @param burst  most packets between two readings of the clock
  Sender(Port& port, Writer& writer, std::uint32_t burst) : port_(port), writer_(writer), burst_(burst) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender();

  /// Begin a trial. @param due  must outlive it @param is_flood  no due times: as fast as the port takes them
  /// @param most  packets that there is room for in `unsent`
  void begin(const TrialTimes& times, DueTimes& due, bool is_flood, std::uint64_t most);
  /// Send one burst of packets that are due. @return whether there is more to come
  bool send(std::uint64_t now_ns) noexcept { return is_flood_ ? flood(now_ns) : send_due(now_ns); }

  void set_burst(std::uint32_t burst) { burst_ = burst; }

  /// The counts of the measured part.
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t sent_bytes = 0;  ///< with FCS
    std::uint64_t tx_full = 0;
    std::uint64_t first_ns = 0;  ///< readings at the first and (below) at the last burst
    std::uint64_t last_ns = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// Return the lag of each packet of the measured part that was offered to the port: from its due time to the reading before
  /// its burst.
  [[nodiscard]] const measure::Histogram& lag() const { return lag_; }
  /// Return the number of the first packet that counts, or the number of packets when none did.
  [[nodiscard]] std::uint64_t first() const { return measuring_ ? first_ : number_; }
  [[nodiscard]] bool measuring() const { return measuring_; }
  /// Return the number behind the last packet that was offered to the port.
  [[nodiscard]] std::uint64_t end() const { return number_; }
  /// Return the bits of packets that the port did not take.
  [[nodiscard]] const Bitmap& unsent() const { return unsent_; }
  /// Return the packets sent so far, for another thread that reports the progress.
  [[nodiscard]] const std::atomic<std::uint64_t>& progress() const { return progress_; }

 private:
  bool send_due(std::uint64_t now_ns) noexcept;
  bool flood(std::uint64_t now_ns) noexcept;
  void count(std::uint32_t n, std::uint32_t taken, std::uint32_t before, std::uint64_t now_ns) noexcept;

  Port& port_;
  Writer& writer_;
  std::uint32_t burst_;
  TrialTimes times_;
  DueTimes* due_ = nullptr;
  bool is_flood_ = false;
  bool measuring_ = false;
  std::uint64_t most_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t first_ = 0;
  std::uint32_t waiting_ = 0;  ///< flood: packets that the port did not take yet
  Counts counts_;
  measure::Histogram lag_;
  Bitmap unsent_;
  std::atomic<std::uint64_t> progress_ = 0;
  std::array<rte_mbuf*, kMaxPacketBurst> packets_{};
  std::array<std::uint16_t, kMaxPacketBurst> bytes_{};
};

}  // namespace dpubench::datapath
