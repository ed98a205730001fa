// What ranks tell each other besides the transfers that are measured: MPI in the program, threads in tests.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "offload/job.hpp"

namespace dpubench::offload {

enum class Group : std::uint8_t { kAll, kHosts };

/// All calls are collective.
class Wire {
 public:
  using Idle = std::function<void()>;  ///< called while a call waits

  virtual ~Wire() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual std::string node() const = 0;
  /// Return the number of this rank's block in the launcher's command; nothing where the launcher does not tell.
  [[nodiscard]] virtual std::optional<int> block() const = 0;

  /// Hand a line of rank 0 to all; nothing at the end of the lines. Waiting for it takes no CPU time.
  virtual std::optional<std::string> share(std::optional<std::string> line) = 0;
  /// Return the texts of all ranks, by rank.
  virtual std::vector<std::string> gather_all(const std::string& text) = 0;
  /// Make the group of hosts.
  virtual void split(bool is_host) = 0;
  /// Wait for the group. @param sleepy wait without taking CPU time from others, and leave some 100 us late
  virtual void barrier(Group group, bool sleepy, const Idle& idle) = 0;
  /// Replace each value with its maximum, or its sum, over all ranks.
  virtual void combine(std::vector<double>& values, bool sum) = 0;

  /// Carry out a pattern with the library's own collective, among hosts. @param between called after its start and before the
  /// wait for its end; empty: a blocking call
  virtual void collective(Pattern pattern, const std::byte* input, std::byte* output, std::size_t bytes,
                          const std::function<void()>& between) = 0;
};

}  // namespace dpubench::offload
