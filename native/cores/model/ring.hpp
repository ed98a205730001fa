// A queue of limited length whose entries do not move.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace dpubench::cores {

template <class T>
class Ring {
 public:
  Ring() = default;
  explicit Ring(std::size_t capacity) : entries_(std::bit_ceil(capacity + 1)), mask_(entries_.size() - 1) {}

  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }
  [[nodiscard]] T& front() { return entries_[first_ & mask_]; }
  [[nodiscard]] const T& front() const { return entries_[first_ & mask_]; }
  /// Return an entry. @param i  0 is the front
  [[nodiscard]] T& operator[](std::size_t i) { return entries_[(first_ + i) & mask_]; }
  T& push() { return entries_[end_++ & mask_]; }
  void push(const T& value) { push() = value; }
  void pop() { ++first_; }
  void clear() { first_ = end_; }

 private:
  std::vector<T> entries_;
  std::size_t mask_ = 0;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace dpubench::cores
