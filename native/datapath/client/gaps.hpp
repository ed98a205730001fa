// Records the times in which the loop did not run, because the scheduler took the CPU away or a pass was too long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace dpubench::datapath {

/// The longest gaps of a loop.
class Gaps {
 public:
  static constexpr std::uint64_t kLeastNs = 50'000;
  static constexpr std::size_t kMost = 256;
  struct Gap {
    std::uint64_t at_ns;  ///< since the trial's start
    std::uint64_t length_ns;
  };

  Gaps() { gaps_.reserve(kMost); }
  void see(std::uint64_t last_ns, std::uint64_t now_ns) noexcept {
    if (now_ns - last_ns > kLeastNs) [[unlikely]]
      add({last_ns, now_ns - last_ns});
  }
  void clear() noexcept { gaps_.clear(); }
  /// Return the gaps in the order of time.
  [[nodiscard]] std::vector<Gap> all() const {
    std::vector<Gap> sorted = gaps_;
    std::sort(sorted.begin(), sorted.end(), [](const Gap& a, const Gap& b) { return a.at_ns < b.at_ns; });
    return sorted;
  }

 private:
  static bool longer(const Gap& a, const Gap& b) { return a.length_ns > b.length_ns; }
  /// Add a gap to the heap. Its shortest gap is on top, and a longer one replaces it.
  void add(const Gap& gap) noexcept {
    if (gaps_.size() == kMost) {
      if (gap.length_ns <= gaps_.front().length_ns) return;
      std::pop_heap(gaps_.begin(), gaps_.end(), longer);
      gaps_.pop_back();
    }
    gaps_.push_back(gap);
    std::push_heap(gaps_.begin(), gaps_.end(), longer);
  }
  std::vector<Gap> gaps_;
};

}  // namespace dpubench::datapath
