// Plans a collective: which rank copies which bytes where, in which order, and whom it tells. Pure functions, the same on all
// ranks. docs/offload-study.md describes the algorithms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "offload/job.hpp"

namespace dpubench::offload {

/// The ranks of each role, in the order of their numbers. Host 0 is the root.
struct Roster {
  std::vector<int> hosts;
  std::vector<int> workers;
  [[nodiscard]] std::size_t ranks() const { return hosts.size() + workers.size(); }
  /// Return the place of a rank among those of its role.
  [[nodiscard]] std::size_t place_of(int rank) const;
  [[nodiscard]] bool is_host(int rank) const;
};

/// The window of a rank: the memory that others read and write. All hosts have the same layout, and all workers.
/// A host has flags, input, output and scratch; a worker has flags, a gathering area and slots for blocks on their way.
class Layout {
 public:
  Layout(std::size_t hosts, std::size_t workers, std::uint64_t largest_bytes);
  [[nodiscard]] std::uint64_t flag(int of_rank) const { return static_cast<std::uint64_t>(of_rank) * kLine; }
  [[nodiscard]] std::uint64_t input() const { return flags_; }
  [[nodiscard]] std::uint64_t output() const { return flags_ + area_; }
  [[nodiscard]] std::uint64_t scratch() const { return flags_ + 2 * area_; }
  [[nodiscard]] std::uint64_t gathered() const { return flags_; }
  [[nodiscard]] std::uint64_t slots() const { return flags_ + area_; }
  /// Return the bytes of an area: a block of each host. Areas lie a guard apart.
  [[nodiscard]] std::uint64_t area() const { return area_ - kGuard; }
  [[nodiscard]] std::uint64_t window(Role role) const { return flags_ + (role == Role::kHost ? 3 : 2) * area_; }

  static constexpr std::uint64_t kLine = 64;
  static constexpr std::uint64_t kGuard = 4096;  ///< bytes behind each area that nobody may write

 private:
  std::uint64_t flags_;
  std::uint64_t area_;
};

/// Bytes between the window of the rank that acts and that of another one, which may be the same.
struct Copy {
  int rank;
  std::uint64_t there;  ///< place in the window of `rank`
  std::uint64_t here;   ///< place in the own window; of a direct copy in that of its source
  std::uint64_t bytes;
};

/// Get, then add, then put.
struct Step {
  std::vector<Copy> in;
  std::vector<std::uint64_t> sums;  ///< places in the own window of what is added to the first of them
  std::uint64_t sum_bytes = 0;
  std::vector<Copy> out;
  int source = -1;  ///< rank in whose window the `out` begin: a direct copy; -1: the own
};

/// What a rank does between two waits. Steps of a batch may overlap. A batch begins when the bytes of the last one are out.
struct Round {
  struct Wait {
    int rank;
    std::uint32_t round;  ///< of that rank, whose end it waits for
  };
  std::vector<Wait> waits;
  std::vector<std::vector<Step>> batches;
  std::vector<int> signals;  ///< ranks that are told the end of the round, once its bytes are there
};

using Script = std::vector<Round>;

/// A collective: the script of each rank that moves data (empty for others), and what each rank waits for at the end.
struct Plan {
  std::vector<Script> scripts;                 ///< by rank
  std::vector<std::vector<Round::Wait>> ends;  ///< by rank
};

/// Return why there is no such pattern on this path, or an empty text.
std::string_view impossible(Pattern pattern, Path path);

/// Return the worker of each host. @param host_nodes, worker_nodes by place; of a worker the node of the hosts that it is next to
std::vector<std::size_t> assign(Assignment assignment, const std::vector<std::string>& host_nodes,
                                const std::vector<std::string>& worker_nodes);

/// Return the plan in which workers move blocks of `bytes`. @param worker_of by host
Plan plan_offloaded(Pattern pattern, Path path, const Roster& roster, const Layout& layout,
                    const std::vector<std::size_t>& worker_of, std::uint64_t bytes);
/// Return the plan in which hosts move them by themselves, with puts from host to host.
Plan plan_reference(Pattern pattern, const Roster& roster, const Layout& layout, std::uint64_t bytes);
/// Fill in `ends`: each rank waits for the last signal of every other rank to it.
void find_ends(Plan& plan);

/// A block that a host must have in its output at the end, and where it comes from.
struct Delivery {
  std::uint64_t output;  ///< place in the area of output
  std::uint64_t bytes;
  std::size_t source;   ///< host; of a sum unused
  std::uint64_t input;  ///< place in the source's area of input
  bool sum = false;     ///< the sum of the blocks of all hosts
};
std::vector<Delivery> deliveries(Pattern pattern, std::size_t hosts, std::size_t host, std::uint64_t bytes);
/// Return the bytes of a host's input that the pattern reads.
std::uint64_t input_bytes(Pattern pattern, std::size_t hosts, std::size_t host, std::uint64_t bytes);

/// Bytes that a plan reads from memory and writes to it, by whose memory it is.
struct MemoryTraffic {
  std::uint64_t host = 0;
  std::uint64_t worker = 0;
};
MemoryTraffic traffic_of(const Plan& plan, const Roster& roster);
/// Return the bytes that a pattern must communicate: what is delivered, and for sums what is added.
std::uint64_t communicated_bytes(Pattern pattern, std::size_t hosts, std::uint64_t bytes);

}  // namespace dpubench::offload
