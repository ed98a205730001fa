// Tests of ports that join two processes: each side is this program once more, so that it has an EAL of its own.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "datapath/job.hpp"

namespace dpubench::datapath::test {

/// What one side does, handed to it in its environment.
struct PeerSpec {
  PortSpec port;
  std::string task = "echo";  ///< "echo": sends back what comes; "send": sends frames and compares what comes back
  std::vector<std::uint32_t> frames = {64, 65, 128, 590, 1500, 1518};  ///< with FCS
  std::uint32_t count = 2000;
  std::uint32_t max_frame = 1518;
  std::uint16_t queues = 1;
  bool huge_pages = false;
  std::uint32_t memory_mb = 512;
  bool keeps_buffers = false;  ///< a closed port of this kind does not give back all packets
  double patience_s = 20;      ///< for the other side to come, and for each packet
};

/// One side, running. Killed when this is destroyed before it ended.
class Peer {
 public:
  /// @param prefix  words before the program, such as those that enter a namespace
  explicit Peer(const PeerSpec& spec, const std::vector<std::string>& prefix = {});
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  /// Waits until it said that its port is open. @return whether it did
  bool wait_ready(std::chrono::seconds patience = std::chrono::seconds(30));
  /// Its exit status; -1 when it did not end in time (it is killed then) or was ended by a signal.
  int wait(std::chrono::seconds patience = std::chrono::seconds(60));
  void kill();
  /// What it wrote so far.
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool read_some(int timeout_ms);

  int pid_ = -1;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace dpubench::datapath::test
