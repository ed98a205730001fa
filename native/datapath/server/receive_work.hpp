// How long threads of the kernel ran that do the receive work of a port's interface.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace dpubench::datapath {

/// Reads the CPU time of threads. On the CPU where they run it is exact: elsewhere the kernel tells that of a running thread as
/// of its last tick.
class ReceiveWork {
 public:
  ReceiveWork() = default;
  /// @param threads  numbers of this system's; none: there is no receive work of the kernel's @throws Error when one is not there
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
  /// Of all threads together, since they were made; 0 without threads. Nothing when one of them is gone.
  [[nodiscard]] std::optional<std::uint64_t> ran_ns() const noexcept;

 private:
  std::vector<int> files_;
};

}  // namespace dpubench::datapath
