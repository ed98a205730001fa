// Sets of ways with a replacement policy, for lookups in caches, TLBs and branch targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cores/model/description.hpp"

namespace dpubench::cores {

class Sets {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// @param ways  a power of two for plru, at most 64
  Sets(std::uint64_t sets, std::uint32_t ways, Replacement replacement)
      : sets_(sets),
        mask_((sets & (sets - 1)) == 0 ? sets - 1 : 0),
        ways_(ways),
        replacement_(replacement),
        tags_(sets * ways, kFree),
        stamps_(replacement == Replacement::kLru ? sets * ways : 0),
        trees_(replacement == Replacement::kPlru ? sets : 0) {}

  [[nodiscard]] std::size_t size() const { return tags_.size(); }

  /// Return the slot of `key`, or kNone when it is not there. Do not change the order of replacement.
  [[nodiscard]] std::size_t find(std::uint64_t key) const {
    const std::size_t first = first_of(key);
    for (std::size_t slot = first; slot < first + ways_; ++slot) {
      if (tags_[slot] == key) return slot;
    }
    return kNone;
  }
  /// Note the use of a slot.
  void touch(std::size_t slot) {
    if (replacement_ == Replacement::kLru) {
      stamps_[slot] = ++clock_;
    } else if (replacement_ == Replacement::kPlru) {
      touch_tree(slot);
    }
  }
  /// Put `key`, which must not be there, into its set. @returns its slot @param evicted  out: the former content, or kFree
  std::size_t insert(std::uint64_t key, std::uint64_t& evicted) {
    const std::size_t slot = victim(first_of(key));
    evicted = tags_[slot];
    tags_[slot] = key;
    touch(slot);
    return slot;
  }
  void remove(std::size_t slot) {
    tags_[slot] = kFree;
    if (replacement_ == Replacement::kLru) stamps_[slot] = 0;
  }

  /// No line or page has this number.
  static constexpr std::uint64_t kFree = static_cast<std::uint64_t>(-1);

 private:
  [[nodiscard]] std::size_t first_of(std::uint64_t key) const {
    return (mask_ != 0 || sets_ == 1 ? key & mask_ : key % sets_) * ways_;
  }

  std::size_t victim(std::size_t first) {
    if (replacement_ == Replacement::kLru) {  // free ways are the oldest
      std::size_t oldest = first;
      for (std::size_t slot = first + 1; slot < first + ways_; ++slot) {
        if (stamps_[slot] < stamps_[oldest]) oldest = slot;
      }
      return oldest;
    }
    for (std::size_t slot = first; slot < first + ways_; ++slot) {
      if (tags_[slot] == kFree) return slot;
    }
    if (replacement_ == Replacement::kPlru) return first + tree_victim(trees_[first / ways_]);
    // xorshift64 (Marsaglia 2003) gives the same numbers in every run.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return first + random_ % ways_;
  }

  // A node of the tree is a bit that points away from the half that was used last. Node 1 is the root; 2n and 2n+1 follow n.
  void touch_tree(std::size_t slot) {
    std::uint64_t& tree = trees_[slot / ways_];
    for (std::size_t node = slot % ways_ + ways_; node > 1; node /= 2) {
      const std::uint64_t bit = std::uint64_t{1} << (node / 2);
      tree = node % 2 == 0 ? tree | bit : tree & ~bit;
    }
  }
  [[nodiscard]] std::size_t tree_victim(std::uint64_t tree) const {
    std::size_t node = 1;
    while (node < ways_) node = 2 * node + (tree >> node & 1);
    return node - ways_;
  }

  std::uint64_t sets_;
  std::uint64_t mask_;
  std::size_t ways_;
  Replacement replacement_;
  std::vector<std::uint64_t> tags_;
  std::vector<std::uint64_t> stamps_;
  std::vector<std::uint64_t> trees_;
  std::uint64_t clock_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15ULL;
};

}  // namespace dpubench::cores
