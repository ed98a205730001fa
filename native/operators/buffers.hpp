// The buffers that a thread's lane works on: copies of a work's items laid out over the footprint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operators/lane.hpp"
#include "operators/operator.hpp"

namespace dpubench {

namespace detail {
/// Gives an arena back to the kernel.
struct Unmap {
  std::size_t length = 0;
  void operator()(std::byte* arena) const;
};
}  // namespace detail

/// Input, output and bookkeeping arrays of `count` buffers, cut in bursts. Buffer i holds item i % items. Inputs and outputs are
/// 64-byte aligned; behind every output lies a guard that tells an engine that writes past its room.
class BufferSet {
 public:
  /// Items of a work that follow each other.
  struct Items {
    std::size_t first;
    std::size_t count;
  };

  /// @param count    buffers wanted, rounded up to whole bursts; from one cycle() on, to whole cycles
  /// @param burst    items per burst, 1 to kMaxBurst
  /// @param seed     moves the arena by a few cache lines, so that rounds differ in layout
  /// @param others   what hold() will be asked for: the arena has room for each
  BufferSet(const Work& work, std::size_t count, std::uint32_t burst, std::uint64_t seed, std::span<const Items> others = {});

  /// Lays these items out instead of all, in the same memory. Nothing is under way. @throws Error when they do not fit, or the
  /// ring is no whole number of their cycles
  void hold(Items items);

  /// Buffers that make the inputs and outputs of a work fill `bytes`, at least `least`.
  static std::size_t count_for(const Work& work, std::size_t bytes, std::size_t least);

  /// Where all of them lie: whole pages.
  [[nodiscard]] std::span<std::byte> memory() const { return {arena_.get(), arena_.get_deleter().length}; }
  [[nodiscard]] std::size_t size() const { return in_.size(); }
  /// Bursts after which buffers hold the same items again: what any run of so many bursts processes is every item, equally often.
  /// The ring is a whole number of cycles, unless it is shorter than one.
  [[nodiscard]] std::size_t cycle() const { return cycle_; }
  [[nodiscard]] std::size_t footprint_bytes() const { return footprint_bytes_; }
  [[nodiscard]] std::vector<Burst>& bursts() { return bursts_; }
  [[nodiscard]] std::size_t item_of(std::size_t buffer) const { return held_.first + buffer % held_.count; }

  /// Inputs at equal distances.
  struct InputRing {
    const std::byte* first;
    std::size_t stride_bytes;
    std::size_t count;
  };
  /// Where the inputs lie, as a device that writes received packets would be told; none where their sizes differ.
  [[nodiscard]] std::optional<InputRing> input_ring() const;

  /// Overwrites outputs, results, lengths and states of a burst with values that no engine produces by leaving them alone.
  void poison(std::size_t burst);
  /// Whether a buffer's output equals `want`, without copying. @param with_result compare Burst::result too
  [[nodiscard]] bool equals(std::size_t buffer, const Output& want, bool with_result) const;
  /// A copy of a buffer's output. @throws Error when the engine left it alone, wrote past its room, or says that it did
  [[nodiscard]] Output output(std::size_t buffer) const;
  /// Of one burst, or of all. @throws Error when an engine wrote to its input
  void check_inputs(std::size_t burst) const;
  void check_inputs() const;
  /// Makes inputs what they were.
  void restore_inputs();
  /// Bytes in and out of one burst as it stands.
  [[nodiscard]] std::uint64_t in_bytes(std::size_t burst) const;
  [[nodiscard]] std::uint64_t out_bytes(std::size_t burst) const;
  [[nodiscard]] std::uint64_t result_sum(std::size_t burst) const;

 private:
  [[nodiscard]] bool guard_intact(std::size_t buffer) const;
  /// Of `count` buffers that hold these items.
  [[nodiscard]] std::size_t bytes_of(Items items, std::size_t count) const;

  const Work& work_;
  std::uint32_t burst_;
  std::uint64_t seed_;
  Items held_{};
  std::unique_ptr<std::byte[], detail::Unmap> arena_;
  std::size_t footprint_bytes_ = 0;
  std::size_t cycle_ = 1;
  std::vector<const std::byte*> in_;
  std::vector<std::uint32_t> in_len_;
  std::vector<std::byte*> out_;
  std::vector<std::uint32_t> out_room_;
  std::vector<std::uint32_t> out_len_;
  std::vector<const std::byte*> aux_;
  std::vector<std::uint64_t> result_;
  std::vector<std::uint8_t> status_;
  std::vector<Burst> bursts_;
};

}  // namespace dpubench
