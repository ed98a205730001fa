#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/peer.hpp"
#include "native/emulator.hpp"

namespace dpubench::datapath::test {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr const char* kVariable = "DPUBENCH_TEST_PEER";
constexpr const char* kReady = "peer is ready";
constexpr const char* kUp = "peer is up";
/// Most frames in flight: fewer than any port's queues hold, so that none may be lost.
constexpr std::uint32_t kWindow = 32;

std::string write(const PeerSpec& spec) {
  return json{{"kind", spec.port.kind},
              {"server", spec.port.role == Role::kServer},
              {"arguments", spec.port.arguments},
              {"task", spec.task},
              {"frames", spec.frames},
              {"count", spec.count},
              {"max_frame", spec.max_frame},
              {"queues", spec.queues},
              {"huge_pages", spec.huge_pages},
              {"memory_mb", spec.memory_mb},
              {"keeps_buffers", spec.keeps_buffers},
              {"patience_s", spec.patience_s}}
      .dump();
}

PeerSpec read(const char* text) {
  const json value = json::parse(text);
  PeerSpec spec;
  spec.port.kind = value.at("kind");
  spec.port.role = value.at("server") ? Role::kServer : Role::kClient;
  for (const auto& [name, argument] : value.at("arguments").items()) spec.port.arguments[name] = argument;
  spec.task = value.value("task", spec.task);
  spec.frames = value.value("frames", spec.frames);
  spec.count = value.value("count", spec.count);
  spec.max_frame = value.value("max_frame", spec.max_frame);
  spec.queues = value.value("queues", spec.queues);
  spec.huge_pages = value.value("huge_pages", spec.huge_pages);
  spec.memory_mb = value.value("memory_mb", spec.memory_mb);
  spec.keeps_buffers = value.value("keeps_buffers", spec.keeps_buffers);
  spec.patience_s = value.value("patience_s", spec.patience_s);
  return spec;
}

/// Poll until `done` is true, at most for `patience_s`. @return whether it became true
template <class Done>
bool poll_until(double patience_s, const Done& done) {
  const auto given_up = Clock::now() + std::chrono::duration<double>(patience_s);
  while (!done()) {
    if (Clock::now() > given_up) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Write the bytes of frame `number`. No two frames have the same bytes.
void fill(std::byte* frame, std::uint32_t bytes, std::uint32_t number) {
  std::uint32_t state = number * 2654435761U + 1;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    state = state * 1664525U + 1013904223U;
    frame[i] = static_cast<std::byte>(state >> 24);
  }
  // The header has unicast addresses of no host, and a local experimental EtherType (IEEE 802): no kernel on the way handles
  // the frame.
  constexpr unsigned char kHeader[14] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
  std::memcpy(frame, kHeader, sizeof kHeader);
  std::memcpy(frame + sizeof kHeader, &number, sizeof number);
}

/// Return whether a packet is a frame of these tests. The kernel sends frames of its own on some links.
bool is_ours(const rte_mbuf* packet) {
  const auto* const data = rte_pktmbuf_mtod(packet, const unsigned char*);
  return packet->data_len >= 18 && data[12] == 0x88 && data[13] == 0xb5;
}

/// Send every frame back where it came from, `count` of them.
void echo(Port& port, const PeerSpec& spec) {
  std::uint32_t echoed = 0;
  const bool complete = poll_until(spec.patience_s + 20, [&] {
    for (std::uint16_t queue = 0; queue < spec.queues; ++queue) {
      rte_mbuf* packets[32];
      std::uint16_t taken = port.receive(queue, packets, 32);
      const auto foreign = std::stable_partition(packets, packets + taken, is_ours);
      for (auto at = foreign; at != packets + taken; ++at) rte_pktmbuf_free(*at);
      taken = static_cast<std::uint16_t>(foreign - packets);
      std::uint16_t sent = 0;
      poll_until(spec.patience_s, [&] {
        sent = static_cast<std::uint16_t>(sent + port.transmit(queue, packets + sent, static_cast<std::uint16_t>(taken - sent)));
        return sent == taken;
      });
      for (; sent < taken; ++sent) rte_pktmbuf_free(packets[sent]);
      echoed += taken;
    }
    return echoed >= spec.count;
  });
  ASSERT_TRUE(complete) << "echoed " << echoed << " of " << spec.count;
  // Frames in the port are on their way until the other side has taken them.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

rte_mbuf* make_frame(rte_mempool* pool, const PeerSpec& spec, std::uint32_t number) {
  const std::uint32_t bytes = spec.frames[number % spec.frames.size()] - kFcsBytes;
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool);
  if (packet == nullptr) return nullptr;
  fill(reinterpret_cast<std::byte*>(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes))), bytes, number);
  return packet;
}

/// Compare frames that came back with those that were sent, whatever their order among queues, and free them.
void compare(rte_mbuf** packets, std::uint16_t n, const PeerSpec& spec, std::vector<bool>& seen, std::uint32_t& received) {
  std::vector<std::byte> expected(spec.max_frame);
  for (std::uint16_t i = 0; i < n; ++i) {
    rte_mbuf* const packet = packets[i];
    if (is_ours(packet)) {
      std::uint32_t number = 0;
      std::memcpy(&number, rte_pktmbuf_mtod(packet, const std::byte*) + 14, sizeof number);
      ASSERT_LT(number, spec.count);
      EXPECT_FALSE(seen[number]) << number << " came twice";
      seen[number] = true;
      ++received;
      const std::uint32_t bytes = spec.frames[number % spec.frames.size()] - kFcsBytes;
      fill(expected.data(), bytes, number);
      EXPECT_EQ(packet->nb_segs, 1);
      ASSERT_EQ(packet->pkt_len, bytes) << "frame " << number;
      ASSERT_EQ(std::memcmp(rte_pktmbuf_mtod(packet, const std::byte*), expected.data(), bytes), 0) << "frame " << number;
    }
    rte_pktmbuf_free(packet);
  }
}

void send(Port& port, const PeerSpec& spec, rte_mempool* pool) {
  std::vector<bool> seen(spec.count);
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  poll_until(spec.patience_s + 20, [&] {
    if (sent < spec.count && sent - received < kWindow) {
      const auto queue = static_cast<std::uint16_t>(sent % spec.queues);
      rte_mbuf* packet = make_frame(pool, spec, sent);
      EXPECT_NE(packet, nullptr) << "the pool is empty";
      if (packet == nullptr) return true;
      if (port.transmit(queue, &packet, 1) == 1) {
        ++sent;
      } else {
        rte_pktmbuf_free(packet);
      }
    }
    for (std::uint16_t queue = 0; queue < spec.queues; ++queue) {
      rte_mbuf* packets[32];
      compare(packets, port.receive(queue, packets, 32), spec, seen, received);
    }
    return received == spec.count || ::testing::Test::HasFatalFailure();
  });
  EXPECT_EQ(sent, spec.count);
  EXPECT_EQ(received, spec.count);
}

/// Send and receive as fast as possible until the other side is gone. The replies are not looked at.
void flood(Port& port, const PeerSpec& spec, rte_mempool* pool) {
  constexpr std::uint16_t kBurst = 32;
  std::uint32_t number = 0;
  const bool noticed = poll_until(spec.patience_s, [&] {
    for (int i = 0; i < 256; ++i) {
      rte_mbuf* packets[kBurst];
      std::uint16_t made = 0;
      while (made < kBurst && (packets[made] = make_frame(pool, spec, number)) != nullptr) {
        ++made;
        ++number;
      }
      const std::uint16_t sent = port.transmit(0, packets, made);
      rte_pktmbuf_free_bulk(packets + sent, static_cast<unsigned>(made - sent));
      rte_pktmbuf_free_bulk(packets, port.receive(0, packets, kBurst));
    }
    return !port.is_up();
  });
  EXPECT_TRUE(noticed) << "the other side is gone, and the port says it is up";
}

}  // namespace

/// One side of a link. Only Peer runs it.
TEST(PortPeer, DISABLED_Side) {
  const char* const text = std::getenv(kVariable);
  ASSERT_NE(text, nullptr);
  const PeerSpec spec = read(text);
  try {
    start_eal({spec.huge_pages, spec.memory_mb});
    rte_mempool* const pool = make_pool("peer", 8191, spec.max_frame);
    const unsigned whole = rte_mempool_avail_count(pool);
    {
      const std::unique_ptr<Port> port = open_port(spec.port, {pool, spec.queues, spec.max_frame});
      std::printf("%s\n%s: %s\n", kReady, port->info().driver.c_str(), port->info().detail.c_str());
      std::fflush(stdout);
      ASSERT_TRUE(poll_until(spec.patience_s, [&] { return port->is_up(); })) << "the other side did not connect";
      if (spec.task == "echo") {
        echo(*port, spec);
      } else if (spec.task == "flood") {
        std::printf("%s\n", kUp);
        std::fflush(stdout);
        flood(*port, spec, pool);
      } else {
        send(*port, spec, pool);
      }
      for (const auto& [name, value] : port->counters()) {
        if (value != 0) std::printf("%s=%llu\n", name.c_str(), static_cast<unsigned long long>(value));
      }
    }
    if (!spec.keeps_buffers) {
      EXPECT_EQ(rte_mempool_avail_count(pool), whole) << "a closed port has given back every packet";
    }
  } catch (const Error& error) {
    FAIL() << error.what();
  }
}

Peer::Peer(const PeerSpec& spec, const std::vector<std::string>& prefix) {
  std::vector<std::string> words = prefix;
  for (const std::string& word : dpubench::test::emulator()) words.push_back(word);
  // A program that starts it is not this one, and /proc/self/exe would name that program.
  words.push_back(words.empty() ? "/proc/self/exe" : std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), {"--gtest_also_run_disabled_tests", "--gtest_filter=PortPeer.DISABLED_Side"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string text = write(spec);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("pipe2");
  pid_ = fork();
  if (pid_ < 0) throw Error("fork");
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    setenv(kVariable, text.c_str(), 1);
    for (const char* shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "GTEST_OUTPUT"}) unsetenv(shard);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

Peer::~Peer() {
  kill();
  close(pipe_);
}

void Peer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool Peer::read_some(int timeout_ms) {
  pollfd waiting{pipe_, POLLIN, 0};
  if (poll(&waiting, 1, timeout_ms) <= 0) return true;
  char text[4096];
  const ssize_t n = ::read(pipe_, text, sizeof text);
  if (n > 0) output_.append(text, static_cast<std::size_t>(n));
  return n > 0;
}

bool Peer::wait_ready(std::chrono::seconds patience) {
  return wait_for(kReady, patience);
}

bool Peer::wait_up(std::chrono::seconds patience) {
  return wait_for(kUp, patience);
}

bool Peer::wait_for(const char* words, std::chrono::seconds patience) {
  const auto given_up = Clock::now() + patience;
  while (output_.find(words) == std::string::npos) {
    if (Clock::now() > given_up || !read_some(100)) return false;
  }
  return true;
}

int Peer::wait(std::chrono::seconds patience) {
  const auto given_up = Clock::now() + patience;
  while (read_some(100)) {
    if (Clock::now() > given_up) {
      kill();
      return -1;
    }
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace dpubench::datapath::test
