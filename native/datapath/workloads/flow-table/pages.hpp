// Memory for tables that are larger than the caches. It uses transparent huge pages if the kernel has some: with 4 KiB pages
// every random access would also miss the TLB.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace dpubench::datapath::flow_table {

/// An array of zeros.
template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pages() = default;
  /// @param what  content of the array, for the error message @throws Error when there is no memory
  Pages(std::size_t n, const char* what) : n_(n) {
    if (n == 0) return;
    mapped_ = (n * sizeof(T) + kHuge - 1) / kHuge * kHuge + kHuge;
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) {
      mapping_ = nullptr;
      throw Error("flow-table: cannot get " + std::to_string(mapped_ >> 20) + " MiB of memory for " + what + "; lower `flows`");
    }
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    const std::size_t skipped = (kHuge - address % kHuge) % kHuge;
    data_ = reinterpret_cast<T*>(static_cast<std::byte*>(mapping_) + skipped);
    madvise(data_, mapped_ - skipped, MADV_HUGEPAGE);
  }
  Pages(Pages&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)), mapped_(other.mapped_), data_(other.data_), n_(other.n_) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages& operator=(Pages&&) = delete;
  ~Pages() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
  }

  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return n_ * sizeof(T); }
  /// Write zeros, which puts every page in place: the packet loop then meets no page fault.
  void zero() noexcept {
    if (n_ != 0) std::memset(static_cast<void*>(data_), 0, bytes());
  }

 private:
  static constexpr std::size_t kHuge = std::size_t{2} << 20;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  T* data_ = nullptr;
  std::size_t n_ = 0;
};

}  // namespace dpubench::datapath::flow_table
