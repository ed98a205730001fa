// The way of bytes between the windows of ranks: one-sided puts and gets. A further transport implements this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dpubench::offload {

class Transport {
 public:
  using Ticket = void*;  ///< of a get under way; null: it is complete

  virtual ~Transport() = default;
  /// Return name and version of the library.
  [[nodiscard]] virtual std::string version() const = 0;
  /// Allocate and register this rank's window, once. @return its beginning @throws Error
  virtual std::byte* map(std::size_t bytes) = 0;
  /// Return what other ranks need to reach the window: opaque bytes.
  [[nodiscard]] virtual std::string address() const = 0;
  /// Reach the windows of others. @param addresses by rank; all ranks call this at the same time @throws Error
  virtual void connect(const std::vector<std::string>& addresses, int own_rank) = 0;
  /// Return which lanes carry the bytes, as the library calls them.
  [[nodiscard]] virtual std::string lanes() const = 0;

  /// Begin to write into the window of `rank`. `from` stays as it is until flush() returns. @throws Error
  virtual void put(int rank, std::uint64_t there, const std::byte* from, std::size_t bytes) = 0;
  /// Begin to read from the window of `rank`. @throws Error
  virtual Ticket get(int rank, std::uint64_t there, std::byte* into, std::size_t bytes) = 0;
  /// Return whether a get is complete; then its ticket is void. @throws Error
  virtual bool done(Ticket ticket) = 0;
  /// Let no later put be seen before the earlier ones.
  virtual void fence() = 0;
  /// Begin to wait until all puts are in the windows that they are for. @throws Error
  virtual Ticket flush() = 0;
  /// Give the library time. Calls of other ranks may need it where transfers are emulated.
  virtual void progress() = 0;
  /// Return the window of `rank` as memory of this process; null where that cannot be.
  [[nodiscard]] virtual const std::byte* reach(int rank) = 0;
};

}  // namespace dpubench::offload
