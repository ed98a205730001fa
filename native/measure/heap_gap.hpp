// Moves what a thread allocates within a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dpubench::measure {

/// Heaps begin at a page, and so lanes, tables and results would lie at the same place of a page in every process, beside which
/// loads of the input are slow or quick. With a gap in front of them that its seed decides, rounds sample it (ThreadTeam does the
/// same for stacks). To be made before what it moves, by the thread that allocates it.
class HeapGap {
 public:
  explicit HeapGap(std::uint64_t seed)
      : gap_(std::make_unique<std::byte[]>(kSmallest + (seed * 0xD1B54A32D192ED03U >> 40U) % kSteps * kStep)) {
    asm volatile("" : : "r"(gap_.get()) : "memory");  // an allocation that nobody looks at may be removed
  }

 private:
  static constexpr std::size_t kStep = 16;  ///< what malloc() aligns to
  static constexpr std::size_t kSteps = 4096 / kStep;
  static constexpr std::size_t kSmallest = 2048;  ///< more than malloc() keeps at hand of what was freed

  std::unique_ptr<std::byte[]> gap_;
};

}  // namespace dpubench::measure
