// The interface between an engine and its driver (the benchmark harness, or a stage of a datapath).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/burst.hpp"

namespace dpubench {

/// Value of Burst::status for an item that was carried out.
inline constexpr std::uint8_t kStatusOk = 0;
/// Value of Burst::status for an item that the engine rejected (wrong tag, bad signature, corrupt stream).
inline constexpr std::uint8_t kStatusRejected = 1;
/// Value of Burst::status for an item that the engine gave up on (at a match limit, for example): neither a result nor a failure.
inline constexpr std::uint8_t kStatusUndecided = 2;
/// Value that the harness writes before a burst. An engine that leaves it there did not process the item.
inline constexpr std::uint8_t kStatusPoison = 0xEE;

/// A structure-of-arrays view of at most kMaxBurst items. The caller owns every array; each has `n` entries. The operator defines
/// the contents of `in`, `out`, `aux` and `result` (`definition` in operator.cpp).
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
  void* user = nullptr;                     ///< for the caller; lanes do not touch it
};

/// One thread's access to an engine, opened untimed. submit(), poll() and the code below them never allocate, lock, log or throw.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  /// Take the memory of all buffers that will be submitted. Called untimed, on the lane's thread. A device maps the memory for
  /// DMA until the lane is destroyed. @throws Error when it cannot
  virtual void attach(std::span<std::byte> /*memory*/) {}
  /// Take the whole burst, or nothing and return false (queue full). The lane owns the burst and its arrays until poll() returns
  /// it, so the caller leaves them alone.
  virtual bool submit(Burst& burst) noexcept = 0;
  /// Hand back whole bursts in any order and return their number. Never wait: return 0 when no burst is complete.
  virtual std::uint32_t poll(std::span<Burst*> done) noexcept = 0;
  /// Make the outputs of a completed burst readable, untimed. A lane that returns packets in its own form (chains of mbufs) now
  /// writes `out` and `out_len` as the operator defines them. The caller settles bursts that it submitted later before this one,
  /// or together with it. The outputs of bursts that it never settles may be lost.
  virtual void settle(Burst& /*burst*/) noexcept {}
  /// Return the number of bursts that may be under way at once. A lane that completes bursts after submit() returned says how
  /// many it takes; Session::path() says the same in jobs.
  [[nodiscard]] virtual std::uint32_t depth() const noexcept { return 1; }
};

/// A synchronous kernel (`void operator()(Burst&) noexcept`) as a lane. The kernel is called and never inlined. So only the
/// kernel decides how the compiler translates it and where its loops begin, whatever changes around it (methodology, "Rounds").
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
  /// Run the kernel and return true: submit() can then jump here, which saves a call and a return for each burst.
  [[gnu::noinline]] static bool run(Kernel& kernel, Burst& burst) noexcept {
    kernel(burst);
    return true;
  }

  Kernel kernel_;
  Burst* done_ = nullptr;
};

}  // namespace dpubench
