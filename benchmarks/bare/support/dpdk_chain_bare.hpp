// The bare loops that divide packets with DPDK and leave chains of mbufs, as support/dpdk/chains.hpp describes.
#pragma once

#include <rte_mbuf.h>

#include <memory>
#include <utility>

#include "operators/support/dpdk/chains.hpp"
#include "timed_loop.hpp"

namespace dpubench::bare {

/// Calls `Divide(chains, burst, item, made)` for inputs known to be whole and too long; it returns how many packets it made.
template <class Divide>
class ChainKernel {
 public:
  explicit ChainKernel(const Work& work) : divide_{static_cast<std::uint16_t>(work.params.number("mtu"))}, work_(work) {}

  void attach(std::span<std::byte> memory) {
    dpdk::require_eal();
    dpdk::become_lcore();
    chains_ = std::make_unique<dpdk::Chains>(dpdk::packets_in(work_, memory.size(), 20));
  }

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      rte_mbuf** const made = dpdk::chains_of(b, i);
      const int n = divide_(*chains_, b, i, made);
      chains_->keep(made, static_cast<std::uint32_t>(n));
      b.status[i] = kStatusOk;
      b.result[i] = static_cast<std::uint64_t>(n);
    }
  }

 private:
  Divide divide_;
  const Work& work_;
  std::unique_ptr<dpdk::Chains> chains_;
};

template <class Divide>
class ChainLane final : public Lane {
 public:
  explicit ChainLane(const Work& work) : kernel_(work) {}
  void attach(std::span<std::byte> memory) override { kernel_.attach(memory); }
  bool submit(Burst& b) noexcept override {
    kernel_(b);
    done_ = &b;
    return true;
  }
  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    if (done_ == nullptr) return 0;
    done[0] = std::exchange(done_, nullptr);
    return 1;
  }
  void settle(Burst& b) noexcept override { dpdk::settle_chains(b); }

 private:
  ChainKernel<Divide> kernel_;
  Burst* done_ = nullptr;
};

template <class Divide>
class ChainTimedLoop final : public TimedLoop {
 public:
  explicit ChainTimedLoop(const Work& work) : kernel_(work) {}
  void attach(std::span<std::byte> memory) override { kernel_.attach(memory); }
  Stretch run(std::span<Burst> ring, std::uint64_t bursts_per_reading, double least_ns) noexcept override {
    return detail::go_round(kernel_, ring, bursts_per_reading, least_ns);
  }
  void settle(Burst& b) noexcept override { dpdk::settle_chains(b); }

 private:
  ChainKernel<Divide> kernel_;
};

template <class Divide>
class ChainLoopSession final : public TimedSession {
 public:
  explicit ChainLoopSession(const Work& work) : work_(work) {}
  std::unique_ptr<Lane> open() override { return std::make_unique<ChainLane<Divide>>(work_); }
  std::unique_ptr<TimedLoop> loop() override { return std::make_unique<ChainTimedLoop<Divide>>(work_); }
  [[nodiscard]] PathInfo path() const override { return {}; }

 private:
  const Work& work_;
};

}  // namespace dpubench::bare
