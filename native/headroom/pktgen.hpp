// The kernel's own packet generator (Documentation/networking/pktgen.rst), driven through its files in /proc/net/pktgen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "datapath/ports/port.hpp"
#include "headroom/job.hpp"
#include "headroom/transmit.hpp"

namespace dpubench::headroom {

/// The account of a device of pktgen.
struct PktgenResult {
  std::uint64_t packets = 0;  ///< that the device took ("pkts-sofar")
  std::uint64_t errors = 0;   ///< that it did not ("errors")
  double elapsed_ns = 0;      ///< from start to end
  double waited_ns = 0;       ///< of it, waiting for the next burst ("idle" of the Result line)
};

/// Parse the file of a device after it stopped. @throws Error when it holds no result
PktgenResult parse_pktgen_result(std::string_view text);
/// Return why the kernel's generator cannot be used here; empty if it can. @param root /proc/net/pktgen
datapath::PortKind::Reason pktgen_unavailable(const std::filesystem::path& root = "/proc/net/pktgen");

/// The generator, with the thread of each of the job's CPUs on one queue of the interface. It knows spacing alone.
class Pktgen {
 public:
  /// @param root /proc/net/pktgen @throws Error where the kernel has no generator, or the job names no interface
  explicit Pktgen(const HeadroomJob& job, std::filesystem::path root = "/proc/net/pktgen");
  Pktgen(const Pktgen&) = delete;
  Pktgen& operator=(const Pktgen&) = delete;
  /// Take the interface from the generator's threads.
  ~Pktgen();

  /// Send one trial. The interface's own count of sent packets must agree with the generator's. @throws Error
  Sent trial(const TrialSpec& spec);
  [[nodiscard]] const std::string& interface() const { return interface_; }

 private:
  void command(const std::filesystem::path& file, const std::string& text) const;
  void add_devices(const TrialSpec& spec);
  void remove_devices() const;
  [[nodiscard]] std::string device(std::uint32_t thread) const;
  [[nodiscard]] std::uint64_t interface_packets() const;

  HeadroomJob job_;
  std::filesystem::path root_;
  std::string interface_;
};

}  // namespace dpubench::headroom
