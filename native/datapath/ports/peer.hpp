// For tests of ports that join two processes: each side runs this program once more, so that it has an EAL of its own.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "datapath/ports/port.hpp"

namespace dpubench::datapath::test {

/// The task of one side, which it gets in its environment.
struct PeerSpec {
  PortSpec port;
  std::string task = "echo";  ///< "echo": sends back the frames; "send": sends frames and compares the replies;
                              ///< "flood": sends and receives until the other side is gone
  std::vector<std::uint32_t> frames = {64, 65, 128, 590, 1500, 1518};  ///< with FCS
  std::uint32_t count = 2000;
  std::uint32_t max_frame = 1518;
  std::uint16_t queues = 1;
  bool huge_pages = false;
  std::uint32_t memory_mb = 512;
  bool keeps_buffers = false;  ///< a closed port of this kind does not give back all packets
  double patience_s = 20;      ///< to wait for the other side, and for each packet
};

/// A running side. The destructor kills it if it has not ended.
class Peer {
 public:
  /// @param prefix  words before the program, such as those that enter a namespace
  explicit Peer(const PeerSpec& spec, const std::vector<std::string>& prefix = {});
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  /// Wait until it says that its port is open. @return whether it did
  bool wait_ready(std::chrono::seconds patience = std::chrono::seconds(30));
  /// Wait until it says that its other side is there. For the task "flood". @return whether it did
  bool wait_up(std::chrono::seconds patience = std::chrono::seconds(30));
  /// Wait for its end. @return its exit status; -1 when it did not end in time (it is killed then), or a signal ended it
  int wait(std::chrono::seconds patience = std::chrono::seconds(60));
  void kill();
  /// Return the text that it wrote so far.
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool read_some(int timeout_ms);
  bool wait_for(const char* words, std::chrono::seconds patience);

  int pid_ = -1;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace dpubench::datapath::test
