#include "headroom/pktgen.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "base/error.hpp"

namespace dpubench::headroom {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

PktgenResult parse_pktgen_result(std::string_view text) {
  // "     pkts-sofar: 100000  errors: 0"
  // "Result: OK: 13101142(c12220741+d880401) usec, 10000000 (60byte,0frags)": elapsed, of it busy (c) and idle (d).
  static const std::regex sofar(R"(pkts-sofar:\s*(\d+)\s+errors:\s*(\d+))");
  static const std::regex result(R"(Result: OK:\s*(\d+)\(c(\d+)\+d(\d+)\)\s*(usec|nsec))");
  const std::string all(text);
  std::smatch counts;
  std::smatch times;
  if (!std::regex_search(all, counts, sofar) || !std::regex_search(all, times, result)) {
    throw Error("backend pktgen: the generator gave no result: " + all.substr(0, 200));
  }
  const double unit_ns = times[4] == "usec" ? 1e3 : 1;
  return {std::stoull(counts[1]), std::stoull(counts[2]), std::stod(times[1]) * unit_ns, std::stod(times[3]) * unit_ns};
}

datapath::PortKind::Reason pktgen_unavailable(const fs::path& root) {
  std::error_code ignored;
  if (!fs::exists(root / "pgctrl", ignored)) {
    return {"there is no " + root.string() + ": the kernel's packet generator is not loaded",
            "modprobe pktgen (CONFIG_NET_PKTGEN), and run as root"};
  }
  if (access((root / "pgctrl").c_str(), W_OK) != 0) return {"this user may not write to " + root.string(), "run as root"};
  return {};
}

Pktgen::Pktgen(const HeadroomJob& job, fs::path root) : job_(job), root_(std::move(root)) {
  if (const auto why = pktgen_unavailable(root_); !why.reason.empty()) {
    throw Error("backend pktgen: " + why.reason + "; " + why.remedy);
  }
  for (const auto& [name, unused] : job.backend.arguments) {
    if (name != "interface") throw Error("backend pktgen: there is no argument '" + name + "'; known: interface");
  }
  const auto given = job.backend.arguments.find("interface");
  if (given == job.backend.arguments.end() || given->second.empty() ||
      given->second.find_first_of("/ \n@") != std::string::npos) {
    throw Error("backend pktgen: the argument 'interface' is missing: the kernel interface to send on");
  }
  interface_ = given->second;
  if (!fs::exists("/sys/class/net/" + interface_)) {
    throw Error("backend pktgen: interface=" + interface_ + ": there is no such interface here (ip link)");
  }
  if (job.cpus.size() < job.threads) {
    throw Error("backend pktgen: " + std::to_string(job.threads) +
                " threads need as many CPUs, one for each thread of the kernel, but the job has " +
                std::to_string(job.cpus.size()));
  }
}

Pktgen::~Pktgen() {
  try {
    remove_devices();
  } catch (const Error&) {  // The kernel's module went away, and its devices with it.
  }
}

std::string Pktgen::device(std::uint32_t thread) const {
  return interface_ + "@" + std::to_string(thread);
}

void Pktgen::command(const fs::path& file, const std::string& text) const {
  std::ofstream out(root_ / file);
  out << text << '\n';
  out.flush();
  if (!out) {
    throw Error("backend pktgen: '" + text + "' > " + (root_ / file).string() + ": " + std::strerror(errno) + "; see `cat " +
                (root_ / file).string() + "`");
  }
}

void Pktgen::remove_devices() const {
  for (std::uint32_t i = 0; i < job_.threads; ++i) command("kpktgend_" + std::to_string(job_.cpus[i]), "rem_device_all");
}

void Pktgen::add_devices(const TrialSpec& spec) {
  remove_devices();
  // Packets for the length of the trial cannot be known before. The generator runs until it is told to stop.
  for (std::uint32_t i = 0; i < spec.threads; ++i) {
    command("kpktgend_" + std::to_string(job_.cpus[i]), "add_device " + device(i));
    for (const std::string& text :
         {std::string("count 0"), "pkt_size " + std::to_string(spec.size), "burst " + std::to_string(spec.burst),
          "clone_skb " + std::to_string(spec.reuse == 1 ? 0 : spec.reuse),
          "delay " + std::to_string(static_cast<std::uint64_t>(spec.delay_ns)), std::string("dst 198.19.0.2"),
          "dst_mac " + job_.destination_mac}) {
      command(device(i), text);
    }
  }
}

std::uint64_t Pktgen::interface_packets() const {
  const std::string text = read_all("/sys/class/net/" + interface_ + "/statistics/tx_packets");
  return text.empty() ? 0 : std::stoull(text);
}

Sent Pktgen::trial(const TrialSpec& spec) {
  if (spec.delay != Delay::kNone && spec.delay != Delay::kSpacing) {
    throw Error("backend pktgen: the generator knows spacing alone, not inserted work");
  }
  if (spec.threads > job_.threads) {
    throw Error("a trial of " + std::to_string(spec.threads) + " threads: the job was opened for " +
                std::to_string(job_.threads));
  }
  add_devices(spec);
  const std::uint64_t before = interface_packets();
  // Writing "start" returns when the generator has stopped.
  std::atomic<bool> stopped = false;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(spec.duration_s));
    // A stop before the generator's threads have begun goes lost.
    for (; !stopped; std::this_thread::sleep_for(std::chrono::milliseconds(10))) std::ofstream(root_ / "pgctrl") << "stop\n";
  });
  try {
    command("pgctrl", "start");
  } catch (...) {
    stopped = true;
    throw;
  }
  stopped = true;
  stopper.join();
  Sent all;
  for (std::uint32_t i = 0; i < spec.threads; ++i) {
    const PktgenResult one = parse_pktgen_result(read_all(root_ / device(i)));
    all.packets += one.packets;
    all.refusals += one.errors;
    all.waited_ns += one.waited_ns;
    all.burst_ns += one.elapsed_ns - one.waited_ns;
    all.elapsed_ns = std::max(all.elapsed_ns, one.elapsed_ns);
  }
  all.bursts = all.packets / spec.burst;
  if (const std::uint64_t counted = interface_packets() - before; counted < all.packets) {
    throw Error("backend pktgen: the generator says that it sent " + std::to_string(all.packets) + " packets, but " + interface_ +
                " counted " + std::to_string(counted));
  }
  return all;
}

}  // namespace dpubench::headroom
