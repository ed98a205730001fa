// The kernel as a device: it forwards packets between two of its interfaces. What is left of the CPUs is what threads of the
// lowest priority get done meanwhile, against what they get done alone: the kernel's work of receiving and sending goes before
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/device.hpp"
#include "headroom/work.hpp"

namespace dpubench::headroom {

/// The kernel's counters of an interface. They count whatever passes it.
struct InterfaceCounters {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
};

/// Return the counters of an interface from the text of /proc/net/dev. @throws Error when it is not there
InterfaceCounters counters_of(std::string_view text, const std::string& interface);

/// One observation of a thread of the lowest priority.
struct Note {
  std::uint64_t ticks = 0;
  std::uint64_t steps = 0;     ///< that the thread has done until now
  std::uint64_t received = 0;  ///< packets that came in until now
};

/// A stretch of a thread's notes, by the places of its first and last one.
struct Stretch {
  std::size_t from = 0;
  std::size_t to = 0;
};

/// Return the stretch in which packets came: from the first note that saw some to the last note before none came any more. Of a
/// thread that could note nothing between, it holds the notes on both sides. All notes when no packet came. @param notes two at
/// least
Stretch crossing(const std::vector<Note>& notes);

/// The forwarding kernel of a job.
class KernelDevice final : public Device {
 public:
  /// Check that the kernel forwards between the job's interfaces, and start a thread on each of its CPUs. @param root where
  /// /proc is @throws Error that names what is wrong with an interface
  explicit KernelDevice(const HeadroomJob& job, const std::filesystem::path& root = "/proc");
  ~KernelDevice() override;

  void begin(const TrialSpec& spec) override;
  Forwarded collect(std::uint32_t trial, std::uint64_t expected) override;
  [[nodiscard]] nlohmann::json described() const override;
  [[nodiscard]] Pace pace() const override;

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace dpubench::headroom
