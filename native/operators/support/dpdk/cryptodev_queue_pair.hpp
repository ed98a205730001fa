// A lane's queue pair of a crypto device, for operations of any kind.
#pragma once

#include <rte_cryptodev.h>
#include <rte_malloc.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "operators/support/dpdk/cryptodev_device.hpp"
#include "operators/support/dpdk/device.hpp"

namespace dpubench::cryptodev {

/// The common part of the queues of symmetric and of public-key operations: the pair, and operations in DPDK's memory.
class QueuePair {
 public:
  using Op = rte_crypto_op;

  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] std::span<Op* const> operations() const { return operations_; }
  [[nodiscard]] dpdk::Turn& turn() noexcept { return device_->turns[queue_pair_]; }
  void attach(std::span<std::byte> memory) {
    if (device_->is_hardware()) mapping_ = dpdk::Mapping(*device_->device, memory);
  }

  std::uint16_t enqueue(Op** ops, std::uint16_t n) noexcept {
    return rte_cryptodev_enqueue_burst(device_->id, queue_pair_, ops, n);
  }
  static bool refused(const Op* op) noexcept { return op->status != RTE_CRYPTO_OP_STATUS_NOT_PROCESSED; }
  std::uint16_t dequeue(Op** ops, std::uint16_t n) noexcept {
    return rte_cryptodev_dequeue_burst(device_->id, queue_pair_, ops, n);
  }

 protected:
  /// @throws Error when there is no queue pair for the lane
  QueuePair(const Provider& provider, dpdk::Ordinals& ordinals) : lease_(ordinals) {
    std::tie(device_, queue_pair_) = provider.device(lease_.number());
  }
  ~QueuePair() { rte_free(memory_); }

  /// Allocate zeroed memory, near the device if it is hardware. @param jobs  operations in this memory @throws Error when DPDK
  /// has none left
  void allocate(std::uint32_t jobs, std::size_t bytes) {
    const int socket = device_->is_hardware() ? rte_cryptodev_socket_id(device_->id) : SOCKET_ID_ANY;
    memory_ = static_cast<std::byte*>(rte_zmalloc_socket("dpubench operations", bytes, RTE_CACHE_LINE_SIZE, socket));
    if (memory_ == nullptr) throw Error("DPDK has no memory left for " + std::to_string(jobs) + " operations of a thread");
  }
  void add(Op* op) { operations_.push_back(op); }

  [[nodiscard]] Device& device() noexcept { return *device_; }
  [[nodiscard]] const Device& device() const noexcept { return *device_; }
  [[nodiscard]] std::byte* memory() noexcept { return memory_; }

 private:
  dpdk::Ordinals::Lease lease_;
  Device* device_ = nullptr;
  std::uint16_t queue_pair_ = 0;
  std::byte* memory_ = nullptr;
  std::vector<Op*> operations_;
  dpdk::Mapping mapping_;
};

}  // namespace dpubench::cryptodev
