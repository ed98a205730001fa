// Moves a thread's allocations to another place within a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dpubench::measure {

/// A gap at the beginning of a thread's heap. Heaps begin at a page. Lanes, tables and results would therefore lie at the same
/// place of a page in every process, and this place makes loads of the input slow or quick. The seed sets the size of the gap,
/// so rounds sample the places (ThreadTeam does the same for stacks). The allocating thread must create it before its data.
class HeapGap {
 public:
  explicit HeapGap(std::uint64_t seed)
      : gap_(std::make_unique<std::byte[]>(kSmallest + (seed * 0xD1B54A32D192ED03U >> 40U) % kSteps * kStep)) {
    asm volatile("" : : "r"(gap_.get()) : "memory");  // otherwise the compiler may remove the allocation
  }

 private:
  static constexpr std::size_t kStep = 16;  ///< alignment of malloc()
  static constexpr std::size_t kSteps = 4096 / kStep;
  static constexpr std::size_t kSmallest = 2048;  ///< more than malloc() caches of freed memory

  std::unique_ptr<std::byte[]> gap_;
};

}  // namespace dpubench::measure
