// Public-key operations of DPDK's cryptodev: a thread's queue of operations, and the check of what a device can do.
#pragma once

#include <rte_cryptodev.h>
#include <rte_malloc.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/dpdk/cryptodev_device.hpp"
#include "operators/support/dpdk/cryptodev_queue_pair.hpp"

namespace dpubench::cryptodev {

/// Return a number in DPDK's form. DPDK only reads it. The bytes must outlive every use of it.
inline rte_crypto_uint number_of(const std::vector<std::byte>& big_endian) {
  return {const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(big_endian.data())), 0, big_endian.size()};
}

/// One thread's public-key operations with one key on a queue pair (a Queue of dpdk::QueueLane).
///
/// @tparam Algorithm  the operation and its key; copied for each queue. It has
///   `Slot`: the data that an operation needs beside it, all zero at first;
///   `rte_crypto_asym_xform xform() const`: the session's transform, pointing into the algorithm;
///   `void set_up(rte_crypto_asym_op&, Slot&, rte_iova_t of_slot) const`: sets the fields that are the same for every operation;
///   `void fill(rte_crypto_asym_op&, Slot&, const Burst&, std::uint32_t item) const noexcept`;
///   `std::uint8_t complete(bool success, const rte_crypto_asym_op&, const Slot&, Burst&, std::uint32_t item) const noexcept`:
///   returns the item's status.
template <class Algorithm>
class AsymQueue : public QueuePair {
 public:
  AsymQueue(const Provider& provider, dpdk::Ordinals& ordinals, const Algorithm& algorithm)
      : QueuePair(provider, ordinals), algorithm_(algorithm) {
    allocate(kJobs, kJobs * kSlotBytes);
    const std::scoped_lock lock(device_mutex());
    rte_crypto_asym_xform xform = algorithm_.xform();
    const int failed = rte_cryptodev_asym_session_create(device().id, &xform, asymmetric_sessions(device()), &session_);
    if (failed != 0) throw Error("DPDK: rte_cryptodev_asym_session_create on " + device().name + ": " + rte_strerror(-failed));
    const rte_iova_t address = rte_malloc_virt2iova(memory());
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      Op* const op = reinterpret_cast<Op*>(memory() + i * kSlotBytes);
      __rte_crypto_op_reset(op, RTE_CRYPTO_OP_TYPE_ASYMMETRIC);
      op->phys_addr = address + i * kSlotBytes;
      rte_crypto_op_attach_asym_session(op, static_cast<rte_cryptodev_asym_session*>(session_));
      algorithm_.set_up(asym(op), own(op).slot, op->phys_addr + kPrivateAt + offsetof(Private, slot));
      add(op);
    }
  }
  AsymQueue(const AsymQueue&) = delete;
  AsymQueue& operator=(const AsymQueue&) = delete;
  ~AsymQueue() {
    const std::scoped_lock lock(device_mutex());
    rte_cryptodev_asym_session_free(device().id, session_);
  }

  static dpdk::Tag& tag(Op* op) noexcept { return own(op).tag; }

  void fill(Op* op, const Burst& burst, std::uint32_t i) noexcept {
    op->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
    algorithm_.fill(asym(op), own(op).slot, burst, i);
  }
  bool complete(Op* op, Burst& burst, std::uint32_t i) noexcept {
    const bool success = op->status == RTE_CRYPTO_OP_STATUS_SUCCESS;
    burst.status[i] = algorithm_.complete(success, asym(op), own(op).slot, burst, i);
    return true;
  }

  static constexpr std::uint32_t kJobs = dpdk::kQueueJobs;

 private:
  struct Private {
    typename Algorithm::Slot slot;
    dpdk::Tag tag;
  };
  static constexpr std::size_t kPrivateAt = sizeof(rte_crypto_op) + sizeof(rte_crypto_asym_op);
  static constexpr std::size_t kSlotBytes = RTE_CACHE_LINE_ROUNDUP(kPrivateAt + sizeof(Private));
  static Private& own(Op* op) noexcept { return *reinterpret_cast<Private*>(reinterpret_cast<std::byte*>(op) + kPrivateAt); }
  static rte_crypto_asym_op& asym(Op* op) noexcept { return *reinterpret_cast<rte_crypto_asym_op*>(op + 1); }

  Algorithm algorithm_;
  void* session_ = nullptr;
};

/// Return why a device does not do this, or an empty string. @param name  name of the algorithm, for people
inline std::string lacks(const Device& device, rte_crypto_asym_xform_type algorithm, const std::string& name, bool sign,
                         std::uint32_t modulus_bits) {
  const rte_cryptodev_asym_capability_idx index = {algorithm};
  const auto* const found = rte_cryptodev_asym_capability_get(device.id, &index);
  const auto type = sign ? RTE_CRYPTO_ASYM_OP_SIGN : RTE_CRYPTO_ASYM_OP_VERIFY;
  if (found == nullptr || rte_cryptodev_asym_xform_capability_check_optype(found, type) == 0) {
    return device.driver + " does not have " + name;
  }
  const auto bytes = static_cast<std::uint16_t>(modulus_bits / 8);
  const bool fits = rte_cryptodev_asym_xform_capability_check_modlen(found, bytes) == 0;
  return fits ? "" : device.driver + " has " + name + ", but not with " + std::to_string(modulus_bits) + " bits";
}

/// A session of public-key operations.
template <class Algorithm>
class AsymSession final : public Session {
 public:
  /// @param detail  detail of the path: the call, and the further work of the engine
  AsymSession(const Provider& provider, Algorithm algorithm, const std::string& detail)
      : provider_(provider), algorithm_(std::move(algorithm)) {
    const Device* const device = provider_.device(0).first;
    path_ = {device->is_hardware() ? "device" : "chosen by library",
             detail,
             device->is_hardware(),
             device->driver,
             device->name,
             AsymQueue<Algorithm>::kJobs};
  }
  std::unique_ptr<Lane> open() override {
    using Queue = AsymQueue<Algorithm>;
    return std::make_unique<dpdk::QueueLane<Queue>>(std::make_unique<Queue>(provider_, ordinals_, algorithm_));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  Provider provider_;
  dpdk::Ordinals ordinals_;
  Algorithm algorithm_;
  PathInfo path_;
};

}  // namespace dpubench::cryptodev
