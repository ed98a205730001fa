// One bit for each packet of a trial.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace dpubench::datapath {

/// A bitmap whose bits are all 0 at first. Memory comes from the kernel only as it is touched, so room for more packets than
/// ever come costs nothing.
class Bitmap {
 public:
  explicit Bitmap(std::uint64_t bits = 0) : bits_(bits), words_(static_cast<std::uint64_t*>(std::calloc(words() + 1, 8))) {
    if (words_ == nullptr) throw std::bad_alloc();
  }

  [[nodiscard]] std::uint64_t bits() const { return bits_; }
  [[nodiscard]] bool test(std::uint64_t i) const noexcept { return (words_[i / 64] >> (i % 64) & 1U) != 0; }
  void set(std::uint64_t i) noexcept { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  /// Set a bit and return whether it was set before.
  bool exchange(std::uint64_t i) noexcept {
    const bool before = test(i);
    set(i);
    return before;
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t first, std::uint64_t end) const noexcept {
    std::uint64_t n = 0;
    for (std::uint64_t i = first; i < end;) {
      if (i % 64 == 0 && i + 64 <= end) {
        n += static_cast<std::uint64_t>(std::popcount(words_[i / 64]));
        i += 64;
      } else {
        n += test(i++) ? 1 : 0;
      }
    }
    return n;
  }
  /// Bring the first bits into memory, so that the loop meets no page fault. Call this while all bits are 0.
  void touch(std::uint64_t bits) noexcept {
    constexpr std::uint64_t kPageWords = 512;
    for (std::uint64_t word = 0; word * 64 < bits && word < words(); word += kPageWords) {
      static_cast<volatile std::uint64_t*>(words_.get())[word] = 0;
    }
  }

 private:
  struct Free {
    void operator()(std::uint64_t* p) const { std::free(p); }
  };
  [[nodiscard]] std::size_t words() const { return static_cast<std::size_t>((bits_ + 63) / 64); }
  std::uint64_t bits_;
  std::unique_ptr<std::uint64_t[], Free> words_;
};

}  // namespace dpubench::datapath
