// The bytes that trials move: known everywhere without communication, so that each host checks every byte that it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "offload/plan.hpp"

namespace dpubench::offload {

/// Bytes by host and place. Each byte differs from that of the last epoch, so that bytes left over from a phase are wrong in the
/// next one.
class Data {
 public:
  Data(std::uint64_t seed, std::size_t hosts) : seed_(seed), hosts_(hosts) {}
  void next_epoch() { ++epoch_; }
  /// Write the input of `host` from `place` on.
  void write(std::size_t host, std::uint64_t place, std::byte* into, std::size_t bytes) const;
  /// Write the bytes that a delivery must have from `place` of it on.
  void write(const Delivery& delivery, std::uint64_t place, std::byte* into, std::size_t bytes) const;

 private:
  std::uint64_t seed_;
  std::size_t hosts_;
  std::uint64_t epoch_ = 0;
};

/// The result of a check.
struct Checked {
  std::uint64_t right = 0;  ///< bytes
  std::uint64_t wrong = 0;
  std::string first;  ///< the first wrong byte, in words
};

/// Overwrite a host's output: every byte that is to come is wrong, and behind them lie marks that must stay.
/// @param used bytes of the output that some pattern could use; a guard lies behind
void poison(const Data& data, const std::vector<Delivery>& deliveries, std::byte* output, std::uint64_t used);
/// Compare every byte of a host's output, and the marks behind.
Checked check(const Data& data, const std::vector<Delivery>& deliveries, const std::byte* output, std::uint64_t used);

/// Add unsigned bytes modulo 256: the sum of the patterns reduce and allreduce.
void add_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace dpubench::offload
