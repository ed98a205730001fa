// The jobs of dpubench-server and dpubench-traffic, and the commands that follow them. Both are untrusted input.
// docs/end-to-end.md describes the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/params.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/port.hpp"
#include "inputs/store.hpp"

namespace dpubench::datapath {

inline constexpr std::string_view kServerJobSchema = "dpubench.server-job/1";
inline constexpr std::string_view kTrafficJobSchema = "dpubench.traffic-job/1";

struct WorkloadSpec {
  std::string name = "forward";
  Params params;
  std::map<std::string, std::string, std::less<>> engines;  ///< by stage; a stage that is not named has its default
};

struct ServerJob {
  std::uint64_t seed = 1;
  double time_limit_s = 600;
  MemorySpec memory;
  std::vector<PortSpec> ports;
  std::vector<int> cpus;
  std::uint32_t burst = 32;
  std::uint32_t sample_every = 16;
  std::uint32_t max_frame = 1518;
  WorkloadSpec workload;
  std::vector<std::string> stages;  ///< empty: all stages
  inputs::Files inputs;
  std::filesystem::path cache_dir;
};

struct PayloadSpec {
  std::string source = "random";  ///< "random", "capture", "corpus"
  double signature_share = 0;     ///< share of packets (with segments: of messages) that carry a signature of the rules
};

struct TrafficSpec {
  std::string source = "model";     ///< or "capture"
  std::string as = "rate";          ///< for a capture: "rate" or "recorded" (the capture's own times)
  std::uint32_t flows = 10'000;     ///< flows that are active at once
  std::string popularity = "zipf";  ///< or "uniform"
  double zipf_exponent = 1.0;
  double churn_per_s = 0;        ///< flows that end and are replaced by new ones, per second
  std::string protocol = "udp";  ///< or "tcp"
  std::uint32_t version = 4;
  std::vector<std::pair<std::uint32_t, double>> frame_sizes;  ///< bytes with FCS, weight
  PayloadSpec payload;
  std::uint32_t segments = 1;   ///< TCP segments per message; several are sent out of order
  double retransmit_share = 0;  ///< share of these segments that were sent before
  double overlap_share = 0;     ///< share of these segments that begin with bytes of the one before
};

struct TrafficJob {
  std::uint64_t seed = 1;
  double time_limit_s = 600;
  MemorySpec memory;
  PortSpec port;
  int cpu = 0;
  std::uint32_t burst = 32;
  bool verify_all = true;
  bool receive = true;             ///< false: replies are not read (a generator alone)
  std::uint32_t max_frame = 1518;  ///< with FCS; of a capture the largest frame that is sent, of a model its largest frame
  TrafficSpec traffic;
  WorkloadSpec workload;
  inputs::Files inputs;
  std::filesystem::path cache_dir;
  std::optional<ServerJob> server;  ///< a server in this process, on its own thread (port kind ring)
};

enum class Schedule : std::uint8_t { kConstant, kPoisson, kBurst, kInterval, kRecorded, kFlood };

struct TrialSpec {
  std::uint32_t number = 0;
  double rate_pps = 0;  ///< not used by kRecorded and kFlood
  Schedule schedule = Schedule::kConstant;
  std::uint32_t burst_packets = 32;  ///< packets per burst of kBurst
  double ramp_s = 0.05;
  double duration_s = 0.5;
  double drain_s = 0.05;
};

/// The way a trial begins on the server.
struct Beginning {
  double ramp_s = 0;
  double duration_s = 0;                      ///< of the measured part; 0: the trial has no measured part
  bool keeps_flows = false;                   ///< tables keep the flows that they know, with counts of zero
  std::vector<std::uint32_t> receive_work{};  ///< kernel threads on the first CPU that receive for the port
};

/// The command `begin`. A command is a line that follows a job.
struct BeginCommand {
  std::uint32_t trial = 0;
  Beginning how{};
};
struct CollectCommand {
  std::uint32_t trial;
  std::string dump;  ///< folder; empty: no dump
};
struct CheckCommand {
  std::uint32_t trial;
  std::string dump;
};
/// The command to send one packet of each flow and to await the replies.
struct FillCommand {
  std::uint32_t trial = 0;
};
struct EndCommand {};
using Command = std::variant<BeginCommand, TrialSpec, FillCommand, CollectCommand, CheckCommand, EndCommand>;

/// Parse a job. @throws Error that names each faulty field (as a JSON pointer), with what is wrong and what is right
ServerJob parse_server_job(std::string_view text);
TrafficJob parse_traffic_job(std::string_view text);
/// Parse a command. @throws Error that lists the commands, or names each faulty field
Command parse_command(std::string_view line);

}  // namespace dpubench::datapath
