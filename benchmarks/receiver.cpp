// The other end of a memory link whose senders are compared: takes all packets and counts them.
//
// Usage: receiver SOCKET CPU. It is the server of a memif link without a secret. A thread on CPU takes packets until standard
// input ends. Prints the event `ready` when senders may come, and `received` with the number of packets at the end. It pauses
// after it found nothing, as the sinks of this project do. dpdk-testpmd rxonly polls without a pause, and the link then runs at
// one of two speeds by chance, whoever sends.

#include <rte_mbuf.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/memory.hpp"
#include "datapath/pause.hpp"
#include "datapath/ports/port.hpp"
#include "measure/clock.hpp"
#include "protocol/events.hpp"

namespace {

using namespace dpubench;

constexpr std::uint32_t kMaxFrame = 1518;
constexpr std::uint32_t kPoolPackets = 8191;
constexpr std::uint16_t kBurst = 32;

std::uint64_t take(datapath::Port& port, const std::atomic<bool>& ended) {
  const datapath::Pause pause(measure::Clock::instance());
  std::array<rte_mbuf*, kBurst> packets;
  std::uint64_t all = 0;
  while (!ended.load(std::memory_order_relaxed)) {
    const std::uint16_t n = port.receive(0, packets.data(), kBurst);
    if (n == 0) {
      pause();
      continue;
    }
    rte_pktmbuf_free_bulk(packets.data(), n);
    all += n;
  }
  return all;
}

void receive(const std::string& socket, int cpu, protocol::EventWriter& events) {
  // The thread that starts the EAL has a cache of its own in the pool.
  datapath::start_eal({});
  const auto port = datapath::open_port({"memif", datapath::Role::kServer, {{"socket", socket}, {"secret", ""}}},
                                        {datapath::make_pool("receiver", kPoolPackets, kMaxFrame), 1, kMaxFrame});
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) throw Error("CPU " + std::to_string(cpu) + " cannot be used");
  std::atomic<bool> ended = false;
  std::thread waiting([&] {
    for (char c = 0; read(STDIN_FILENO, &c, 1) > 0;) continue;
    ended = true;
  });
  events.write({{"event", "ready"}});
  const std::uint64_t packets = take(*port, ended);
  waiting.join();
  events.write({{"event", "received"}, {"packets", packets}});
}

}  // namespace

int main(int argc, char** argv) {
  // DPDK prints to standard output as it likes. Events keep the real one.
  protocol::EventWriter events(fdopen(dup(STDOUT_FILENO), "w"));
  dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    if (argc != 3) throw Error("usage: receiver SOCKET CPU");
    receive(argv[1], std::stoi(argv[2]), events);
    return 0;
  } catch (const std::exception& error) {
    events.failure("job", error.what());
    return 1;
  }
}
