// The buffers of one thread's lane: copies of a work's items, as many as the footprint asks for.
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
/// The deleter of an arena: gives it back to the kernel.
struct Unmap {
  std::size_t length = 0;
  void operator()(std::byte* arena) const;
};
}  // namespace detail

/// Input, output and bookkeeping arrays of `count` buffers, cut into bursts. Buffer i holds item i % items. Inputs and outputs
/// are 64-byte aligned. A guard lies behind every output: it shows when an engine writes past its room.
class BufferSet {
 public:
  /// A range of consecutive items of a work.
  struct Items {
    std::size_t first;
    std::size_t count;
  };

  /// @param count    buffers wanted; rounded up to whole bursts, or to whole cycles if it is at least one cycle()
  /// @param burst    items per burst, 1 to kMaxBurst
  /// @param seed     moves the buffers by 0 to 511 cache lines, so that rounds differ in layout
  /// @param others   ranges that hold() will get later: the arena has room for each
  BufferSet(const Work& work, std::size_t count, std::uint32_t burst, std::uint64_t seed, std::span<const Items> others = {});

  /// Lay out these items instead of all, in the same memory. Call it only while no burst is under way. @throws Error when the
  /// items do not fit, or when the ring is longer than one of their cycles and not a whole number of them
  void hold(Items items);

  /// Return the number of buffers whose inputs and outputs fill `bytes`, at least `least`.
  static std::size_t count_for(const Work& work, std::size_t bytes, std::size_t least);

  /// Return the memory of all buffers: whole pages.
  [[nodiscard]] std::span<std::byte> memory() const { return {arena_.get(), arena_.get_deleter().length}; }
  [[nodiscard]] std::size_t size() const { return in_.size(); }
  /// Return the bursts after which buffers hold the same items again. Any run of this many bursts processes every item equally
  /// often. The ring is a whole number of cycles, unless it is shorter than one cycle.
  [[nodiscard]] std::size_t cycle() const { return cycle_; }
  [[nodiscard]] std::size_t footprint_bytes() const { return footprint_bytes_; }
  [[nodiscard]] std::vector<Burst>& bursts() { return bursts_; }
  [[nodiscard]] std::size_t item_of(std::size_t buffer) const { return held_.first + buffer % held_.count; }

  /// A ring of inputs at equal distances.
  struct InputRing {
    const std::byte* first;
    std::size_t stride_bytes;
    std::size_t count;
  };
  /// Return where the inputs lie, as a device that writes received packets needs it; nothing if their distances differ.
  [[nodiscard]] std::optional<InputRing> input_ring() const;

  /// Overwrite the outputs, results, lengths and states of a burst. An engine that leaves these values alone did not process the
  /// item.
  void poison(std::size_t burst);
  /// Return whether the output of a buffer equals `want`; copy nothing. @param with_result compare Burst::result too
  [[nodiscard]] bool equals(std::size_t buffer, const Output& want, bool with_result) const;
  /// Return a copy of a buffer's output. @throws Error when the engine left it alone, wrote past its room, or reports a length
  /// that is missing or larger than the room
  [[nodiscard]] Output output(std::size_t buffer) const;
  /// Check the inputs of one burst, or of all. @throws Error when an engine wrote to its input
  void check_inputs(std::size_t burst) const;
  void check_inputs() const;
  /// Write the original inputs again.
  void restore_inputs();
  /// Return the bytes in and out of one burst in its present state.
  [[nodiscard]] std::uint64_t in_bytes(std::size_t burst) const;
  [[nodiscard]] std::uint64_t out_bytes(std::size_t burst) const;
  [[nodiscard]] std::uint64_t result_sum(std::size_t burst) const;

 private:
  [[nodiscard]] bool guard_intact(std::size_t buffer) const;
  /// Return the bytes of `count` buffers that hold these items.
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
