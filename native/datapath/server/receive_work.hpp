// Measures the CPU time of the kernel threads that do the receive work of a port's interface.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace dpubench::datapath {

/// A reader of the CPU time of threads. It is exact on the CPU where the threads run. On other CPUs the kernel reports the time
/// of a running thread as of its last tick.
class ReceiveWork {
 public:
  ReceiveWork() = default;
  /// Open the CPU times of threads. @param threads  thread numbers of this system; none: the kernel has no receive work @throws
  /// Error when a thread does not exist
  explicit ReceiveWork(std::span<const std::uint32_t> threads);
  ReceiveWork(ReceiveWork&& other) noexcept : files_(std::exchange(other.files_, {})) {}
  ReceiveWork& operator=(ReceiveWork&& other) noexcept {
    std::swap(files_, other.files_);
    return *this;
  }
  ReceiveWork(const ReceiveWork&) = delete;
  ReceiveWork& operator=(const ReceiveWork&) = delete;
  ~ReceiveWork();

  [[nodiscard]] bool is_known() const noexcept { return !files_.empty(); }
  /// Return the CPU time in ns of all threads together, counted since each was created; 0 without threads. Return nothing when
  /// a thread is gone.
  [[nodiscard]] std::optional<std::uint64_t> ran_ns() const noexcept;

 private:
  std::vector<int> files_;
};

}  // namespace dpubench::datapath
