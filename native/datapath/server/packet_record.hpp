// Records which packets of a trial a loop received, dropped or could not transmit, by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "datapath/stages/batch.hpp"

namespace dpubench::datapath {

/// A large array of zeros in its own address space. A page takes memory only from its first use on.
template <class T>
class SparseArray {
 public:
  /// Reserve the array. @throws Error when there is no address space for it
  explicit SparseArray(std::size_t count);
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return memory_.get()[i]; }
  [[nodiscard]] const T* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.get_deleter().bytes / sizeof(T); }
  /// Set the first `count` elements to zero and give most of their memory back.
  void clear(std::size_t count) noexcept;
  /// Touch pages ahead, so that the loop that needs them does not wait for the kernel.
  void touch(std::size_t count) noexcept;

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(T* memory) const noexcept;
  };
  std::unique_ptr<T, Unmap> memory_;
};

/// The record of one loop. Only its thread writes it; others read it while that thread waits.
class PacketRecord {
 public:
  /// Limit of the packet numbers that can be recorded: three hours at 6 Mpps.
  static constexpr std::uint64_t kMostPackets = std::uint64_t{1} << 36;
  /// Most losses of each kind that are recorded one by one.
  static constexpr std::uint64_t kMostLosses = std::uint64_t{1} << 24;

  PacketRecord();
  /// Forget everything.
  void clear() noexcept;

  /// Record a received packet. Return false when it was there already. @param number  below kMostPackets
  bool receive(std::uint64_t number) noexcept {
    std::uint64_t& word = received_[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    end_ = number < end_ ? end_ : number + 1;
    return is_new;
  }
  void drop(std::uint64_t number, Fate fate) noexcept {
    if (dropped_count_ < kMostLosses) {
      dropped_[dropped_count_] = number;
      reasons_[dropped_count_] = static_cast<std::uint8_t>(fate);
    }
    ++dropped_count_;
  }
  void tx_full(std::uint64_t number) noexcept {
    if (tx_full_count_ < kMostLosses) tx_full_[tx_full_count_] = number;
    ++tx_full_count_;
  }

  /// Return one bit per packet number, lowest first, up to the highest number received.
  [[nodiscard]] std::span<const std::uint64_t> received() const noexcept { return {received_.data(), words(end_)}; }
  /// Return one more than the highest number received.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  [[nodiscard]] std::span<const std::uint64_t> dropped() const noexcept { return {dropped_.data(), noted(dropped_count_)}; }
  /// Return the Fate of each of dropped().
  [[nodiscard]] std::span<const std::uint8_t> reasons() const noexcept { return {reasons_.data(), noted(dropped_count_)}; }
  [[nodiscard]] std::span<const std::uint64_t> tx_full() const noexcept { return {tx_full_.data(), noted(tx_full_count_)}; }
  /// Return how many losses had no room in dropped() and tx_full().
  [[nodiscard]] std::uint64_t not_noted() const noexcept {
    return dropped_count_ - noted(dropped_count_) + tx_full_count_ - noted(tx_full_count_);
  }

 private:
  static std::size_t words(std::uint64_t packets) noexcept { return static_cast<std::size_t>((packets + 63) / 64); }
  static std::uint64_t noted(std::uint64_t count) noexcept { return count < kMostLosses ? count : kMostLosses; }

  SparseArray<std::uint64_t> received_;
  SparseArray<std::uint64_t> dropped_;
  SparseArray<std::uint8_t> reasons_;
  SparseArray<std::uint64_t> tx_full_;
  std::uint64_t end_ = 0;
  std::uint64_t dropped_count_ = 0;
  std::uint64_t tx_full_count_ = 0;
};

}  // namespace dpubench::datapath
