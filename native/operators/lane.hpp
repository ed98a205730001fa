// The unit of work between whoever drives an operator (the benchmark harness, a datapath stage) and an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace dpubench {

/// Most items that one burst may carry.
inline constexpr std::uint32_t kMaxBurst = 256;

/// Most jobs (items that were submitted and not yet polled) that one lane is ever given; see EngineInfo::in_flight.
inline constexpr std::uint32_t kMaxInFlight = 4096;

/// Value of Burst::status for an item that was carried out.
inline constexpr std::uint8_t kStatusOk = 0;
/// Value of Burst::status for an item that the engine rejected (wrong tag, bad signature, corrupt stream).
inline constexpr std::uint8_t kStatusRejected = 1;
/// Value of Burst::status where the engine gave up (a match limit, say): neither a result nor a failure.
inline constexpr std::uint8_t kStatusUndecided = 2;
/// Value that the harness writes before a burst: an engine that leaves it there did not process the item.
inline constexpr std::uint8_t kStatusPoison = 0xEE;

/// Structure-of-arrays view over at most kMaxBurst items. The caller owns every array; each has `n` entries.
/// What `in`, `out`, `aux` and `result` hold is defined by the operator (its `definition` in operator.cpp).
struct Burst {
  std::uint32_t n = 0;
  const std::byte* const* in = nullptr;     ///< input of each item, 64-byte aligned
  const std::uint32_t* in_len = nullptr;    ///< bytes of each input
  std::byte* const* out = nullptr;          ///< output room of each item, 64-byte aligned
  const std::uint32_t* out_room = nullptr;  ///< bytes that may be written to each output
  std::uint32_t* out_len = nullptr;         ///< bytes written, set by the lane
  const std::byte* const* aux = nullptr;    ///< per item: IV, additional data, tuple ... (defined by the operator)
  std::uint64_t* result = nullptr;          ///< next hop, checksum, matches ... (defined by the operator)
  std::uint8_t* status = nullptr;           ///< kStatus*, set by the lane
  void* user = nullptr;                     ///< the caller's; lanes leave it alone
};

/// One thread's way through an engine, opened untimed. Below this call nothing allocates, locks, logs or throws.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  /// Told, untimed and on the lane's thread, where all buffers lie that will be submitted: a device maps the memory for DMA,
  /// until the lane is destroyed. @throws Error when it cannot
  virtual void attach(std::span<std::byte> /*memory*/) {}
  /// Takes the whole burst, or nothing (false: queue full). The burst and its arrays stay the lane's until poll returns it.
  virtual bool submit(Burst& burst) noexcept = 0;
  /// Hands back whole bursts, in any order; returns how many. Never waits: 0 when none is complete.
  virtual std::uint32_t poll(std::span<Burst*> done) noexcept = 0;
  /// Told, untimed, that the outputs of a burst that came back are about to be read: a lane that hands packets out in a form of
  /// its own (chains of mbufs) writes to `out` and `out_len` now what the operator defines. Outputs of bursts that were given to
  /// it later are settled first or with it; those that never are may be lost.
  virtual void settle(Burst& /*burst*/) noexcept {}
  /// Bursts that may be under way at once. A lane that completes later than submit() returns says how many it is ready for;
  /// Session::path() tells the same in jobs.
  [[nodiscard]] virtual std::uint32_t depth() const noexcept { return 1; }
};

/// Wraps a synchronous kernel (`void operator()(Burst&) noexcept`) as a lane. The kernel is called and never inlined: what the
/// compiler makes of it, and where its loops begin, is then decided by the kernel alone, whatever changes around it (methodology,
/// "Rounds").
template <class Kernel>
class SyncLane final : public Lane {
 public:
  explicit SyncLane(Kernel kernel) : kernel_(std::move(kernel)) {}

  bool submit(Burst& burst) noexcept override {
    if (done_ != nullptr) return false;
    done_ = &burst;
    return run(kernel_, burst);
  }

  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    if (done_ == nullptr || done.empty()) return 0;
    done[0] = std::exchange(done_, nullptr);
    return 1;
  }

 private:
  /// Returns true, so that submit() jumps to it: a call and a return less for each burst.
  [[gnu::noinline]] static bool run(Kernel& kernel, Burst& burst) noexcept {
    kernel(burst);
    return true;
  }

  Kernel kernel_;
  Burst* done_ = nullptr;
};

}  // namespace dpubench
