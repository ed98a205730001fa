// The job of dpubench-headroom and the commands that follow it. Both are untrusted input. docs/headroom-study.md describes the
// format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/params.hpp"
#include "datapath/job.hpp"
#include "datapath/ports/port.hpp"
#include "inputs/store.hpp"

namespace dpubench::headroom {

inline constexpr std::string_view kJobSchema = "dpubench.headroom-job/1";
/// Bytes of the Ethernet, IPv4 and UDP headers of every packet.
inline constexpr std::uint32_t kHeaderBytes = 42;
/// Least and largest packet, without FCS. The least holds the headers and a full trailer (datapath/frame/trailer.hpp). The
/// largest is that of a UDP datagram.
inline constexpr std::uint32_t kMinPacket = kHeaderBytes + 24;
inline constexpr std::uint32_t kMaxPacket = 65'507 + kHeaderBytes;
inline constexpr std::uint32_t kMaxBurst = datapath::kMaxPacketBurst;
inline constexpr std::uint32_t kMaxThreads = 256;

/// What a process does.
enum class Part : std::uint8_t {
  kSender,
  kSink,
  kForwarder,  ///< packets come in at `backend` and leave at `out`
};

/// The way out of the packets, or in at the sink; of a forwarder each of the two.
struct BackendSpec {
  std::string kind = "port";  ///< "port" (of DPDK), "udp" (sockets of the kernel), "pktgen" and "kernel" (of the kernel)
  datapath::PortSpec port;    ///< of kind "port"
  std::map<std::string, std::string, std::less<>> arguments;  ///< of the other kinds
};

/// An operator that a trial can run on the items of each burst.
struct OperatorJob {
  std::string op;
  std::string engine;
  Params params;
};

/// A sink in the process of the sender, where both have the same CPU: they give it to each other when they wait. Threads of one
/// process can do so; processes of different sessions or control groups cannot (sched_yield(2), autogroup in sched(7)).
struct OwnSink {
  BackendSpec backend;
  std::string network_namespace;  ///< file of the sink's network namespace; empty: that of the process
};

struct HeadroomJob {
  std::uint64_t seed = 1;
  double time_limit_s = 600;
  Part part = Part::kSender;
  datapath::MemorySpec memory;
  BackendSpec backend;
  BackendSpec out;  ///< of a forwarder
  std::vector<int> cpus;
  std::optional<OwnSink> own_sink;  ///< of a sender
  std::uint32_t threads = 1;        ///< most sending threads of a trial, each with a queue of its own
  std::uint32_t max_packet = 1514;  ///< largest packet of a trial, without FCS
  std::string destination_mac = "02:00:00:00:00:02";
  std::optional<OperatorJob> operator_job;
  inputs::Files inputs;
  std::filesystem::path cache_dir;
};

/// What happens between two bursts of a thread.
enum class Delay : std::uint8_t {
  kNone,
  kSpacing,   ///< a burst begins at the earliest `delay_ns` after the last one of its thread began
  kSchedule,  ///< a burst is due `delay_ns` after the last one was due: a late one is caught up. For senders
  kSpin,      ///< after each burst, work that takes `delay_ns` when it runs alone: dependent multiplications
  kCache,     ///< likewise: dependent loads from a table that fits the thread's L2
  kMemory,    ///< likewise: dependent loads from a table that is larger than the caches
  kOperator,  ///< after each burst, the job's operator on as many items as the burst has packets
};

struct TrialSpec {
  std::uint32_t number = 0;
  std::uint32_t size = 1500;  ///< bytes of a packet, without FCS
  std::uint32_t threads = 1;
  std::uint32_t burst = 32;
  std::uint32_t reuse = 1;  ///< times that a packet is sent once it is built
  double duration_s = 0.02;
  Delay delay = Delay::kNone;
  double delay_ns = 0;
  bool verify = false;  ///< forwarder: also read the number of every packet, which costs time
};

/// The commands. A sender takes trials; a sink takes pairs of begin and collect; a forwarder takes pairs of forward and collect.
struct BeginCommand {
  std::uint32_t trial = 0;
};
struct ForwardCommand {
  TrialSpec spec;  ///< burst: most packets that a thread takes at a time; duration and reuse do not matter
};
struct CollectCommand {
  std::uint32_t trial = 0;
  std::uint64_t expected = 0;  ///< packets that were sent: the process waits for as many, but no longer than packets come
};
struct EndCommand {};
using Command = std::variant<TrialSpec, BeginCommand, ForwardCommand, CollectCommand, EndCommand>;

/// Parse a job. @throws Error that names each faulty field (as a JSON pointer), with what is wrong and what is right
HeadroomJob parse_job(std::string_view text);
/// Parse a command. @throws Error that lists the commands, or names each faulty field
Command parse_command(std::string_view line);
/// Return the word of a delay in jobs and events.
std::string_view word_of(Delay delay);

}  // namespace dpubench::headroom
