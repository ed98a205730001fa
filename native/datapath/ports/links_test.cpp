#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_mbuf.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "datapath/ports/peer.hpp"
#include "datapath/ports/testing.hpp"
#include "native/emulator.hpp"
#include "native/temporary_directory.hpp"

namespace dpubench::datapath::test {
namespace {

namespace fs = std::filesystem;
using dpubench::test::TemporaryDirectory;

/// Send frames from one process to another and back, and expect that none is lost and none is changed.
void expect_echo(PeerSpec server, PeerSpec client) {
  server.port.role = Role::kServer;
  server.task = "echo";
  client.port.role = Role::kClient;
  client.task = "send";
  Peer first(server);
  ASSERT_TRUE(first.wait_ready()) << first.output();
  Peer second(client);
  EXPECT_EQ(second.wait(), 0) << "client:\n" << second.output() << "\nserver:\n" << first.output();
  EXPECT_EQ(first.wait(), 0) << "server:\n" << first.output();
  EXPECT_NE(first.output().find("[  PASSED  ] 1 test"), std::string::npos) << first.output();
  EXPECT_NE(second.output().find("[  PASSED  ] 1 test"), std::string::npos) << second.output();
}

PeerSpec at_socket(const std::string& kind, const fs::path& socket) {
  PeerSpec spec;
  spec.port.kind = kind;
  spec.port.arguments = {{"socket", socket}};
  return spec;
}

/// Make a Unix socket that listens. Without `keep_listening` it is the socket of a process that is gone: closed without being
/// removed.
void leave_socket(const fs::path& path, bool keep_listening, int& listening) {
  listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  if (!keep_listening) close(listening);
}

TEST(PortMemif, CarriesFramesBetweenProcesses) {
  const TemporaryDirectory folder;
  const PeerSpec spec = at_socket("memif", folder.path() / "s");
  expect_echo(spec, spec);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PortMemif, CarriesLongFramesWithoutCopying) {
  const TemporaryDirectory folder;
  PeerSpec server = at_socket("memif", folder.path() / "s");
  server.frames = kLengths;
  server.max_frame = kMaxFrame;
  PeerSpec client = server;
  client.port.arguments["zero_copy"] = "yes";
  client.keeps_buffers = true;
  expect_echo(server, client);
}

TEST(PortMemif, CarriesLongFrames) {
  const TemporaryDirectory folder;
  PeerSpec spec = at_socket("memif", folder.path() / "s");
  spec.frames = kLengths;
  spec.max_frame = kMaxFrame;
  expect_echo(spec, spec);
}

TEST(PortMemif, CarriesFramesOfSeveralQueues) {
  const TemporaryDirectory folder;
  PeerSpec spec = at_socket("memif", folder.path() / "s");
  spec.queues = 2;
  expect_echo(spec, spec);
}

TEST(PortMemif, SidesWithDifferentQueuesDoNotMeet) {
  const TemporaryDirectory folder;
  PeerSpec server = at_socket("memif", folder.path() / "s");
  server.port.role = Role::kServer;
  server.patience_s = 3;
  server.queues = 2;
  PeerSpec client = server;
  client.port.role = Role::kClient;
  client.queues = 1;
  Peer first(server);
  ASSERT_TRUE(first.wait_ready()) << first.output();
  Peer second(client);
  EXPECT_NE(second.wait(), 0) << second.output();
  EXPECT_NE(first.wait(), 0) << first.output();
  EXPECT_NE(second.output().find("the other side did not connect"), std::string::npos) << second.output();
}

TEST(PortMemif, ServerWithoutAClientIsNotUp) {
  const TemporaryDirectory folder;
  PeerSpec server = at_socket("memif", folder.path() / "s");
  server.patience_s = 0.5;
  Peer alone(server);
  EXPECT_NE(alone.wait(), 0);
  EXPECT_NE(alone.output().find("the other side did not connect"), std::string::npos) << alone.output();
  EXPECT_TRUE(fs::is_empty(folder.path())) << "the socket is gone with the port";
}

TEST(PortMemif, ClientWaitsForItsServer) {
  const TemporaryDirectory folder;
  PeerSpec spec = at_socket("memif", folder.path() / "s");
  spec.port.role = Role::kClient;
  spec.task = "send";
  Peer client(spec);
  EXPECT_FALSE(client.wait_ready(std::chrono::seconds(1)));
  spec.port.role = Role::kServer;
  spec.task = "echo";
  Peer server(spec);
  EXPECT_EQ(client.wait(), 0) << client.output();
  EXPECT_EQ(server.wait(), 0) << server.output();
}

TEST(Ports, ClientsGiveUpWhereNobodyListens) {
  const TemporaryDirectory folder;
  PeerSpec spec = at_socket("memif", folder.path() / "s");
  spec.port.role = Role::kClient;
  Peer memif(spec);
  spec.port.kind = "vhost";
  Peer vhost(spec);
  for (Peer* const client : {&memif, &vhost}) {
    EXPECT_NE(client->wait(), 0);
    EXPECT_NE(client->output().find("nobody listens at the socket"), std::string::npos) << client->output();
  }
}

TEST(PortMemif, RemovesTheSocketOfAKilledServer) {
  const TemporaryDirectory folder;
  const PeerSpec spec = at_socket("memif", folder.path() / "s");
  {
    PeerSpec waiting = spec;
    Peer killed(waiting);
    ASSERT_TRUE(killed.wait_ready()) << killed.output();
    killed.kill();
  }
  ASSERT_TRUE(fs::is_socket(folder.path() / "s"));
  expect_echo(spec, spec);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PortMemif, RefusesASocketInUse) {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "s";
  int listening = -1;
  leave_socket(path, true, listening);
  const std::string fault = fault_of({"memif", Role::kServer, {{"socket", path}}}, resources());
  close(listening);
  EXPECT_NE(fault.find("another program listens at the socket " + path.string()), std::string::npos) << fault;
  EXPECT_TRUE(fs::is_socket(path)) << "what belongs to somebody else stays";
}

TEST(PortMemif, RefusesWhatIsNoSocket) {
  const TemporaryDirectory folder;
  const fs::path file = folder.write("file", "mine");
  const std::string fault = fault_of({"memif", Role::kServer, {{"socket", file}}}, resources());
  EXPECT_NE(fault.find("exists and is not a socket"), std::string::npos) << fault;
  EXPECT_TRUE(fs::exists(file));
  const std::string nowhere = fault_of({"memif", Role::kServer, {{"socket", folder.path() / "no/such/folder/s"}}}, resources());
  EXPECT_NE(nowhere.find("cannot make a socket in"), std::string::npos) << nowhere;
  const std::string longer = fault_of({"memif", Role::kServer, {{"socket", "/tmp/" + std::string(120, 'x')}}}, resources());
  EXPECT_NE(longer.find("give a shorter one"), std::string::npos) << longer;
}

TEST(PortVhost, CarriesFramesBetweenProcesses) {
  const TemporaryDirectory folder;
  PeerSpec spec = at_socket("vhost", folder.path() / "s");
  spec.frames = kLengths;
  spec.max_frame = kMaxFrame;
  expect_echo(spec, spec);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PortVhost, CarriesFramesOfSeveralQueues) {
  const TemporaryDirectory folder;
  PeerSpec spec = at_socket("vhost", folder.path() / "s");
  spec.queues = 2;
  expect_echo(spec, spec);
}

TEST(PortVhost, RefusesASocketInUse) {
  const TemporaryDirectory folder;
  int listening = -1;
  leave_socket(folder.path() / "s", true, listening);
  const std::string fault = fault_of({"vhost", Role::kServer, {{"socket", folder.path() / "s"}}}, resources());
  close(listening);
  EXPECT_NE(fault.find("another program listens at the socket"), std::string::npos) << fault;
}

TEST(PortVhost, ReplacesAStaleSocket) {
  const TemporaryDirectory folder;
  int listening = -1;
  leave_socket(folder.path() / "s", false, listening);
  EXPECT_EQ(fault_of({"vhost", Role::kServer, {{"socket", folder.path() / "s"}}}, resources()), "");
}

PeerSpec datagrams(int local, int peer) {
  PeerSpec spec;
  spec.port.kind = "socket";
  spec.port.arguments = {{"local", "127.0.0.1:" + std::to_string(local)}, {"peer", "127.0.0.1:" + std::to_string(peer)}};
  spec.frames = kLengths;
  spec.max_frame = kMaxFrame;
  return spec;
}

/// Return the first of `count` numbers in a row that are free now.
int free_numbers(int count) {
  for (int first = 42000; first < 60000; first += count) {
    bool all = true;
    for (int i = 0; i < count && all; ++i) {
      const int probe = socket(AF_INET, SOCK_DGRAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<std::uint16_t>(first + i));
      all = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
      close(probe);
    }
    if (all) return first;
  }
  return 0;
}

TEST(PortSocket, CarriesFramesBetweenProcesses) {
  const int first = free_numbers(4);
  expect_echo(datagrams(first, first + 2), datagrams(first + 2, first));
}

TEST(PortSocket, CarriesFramesOfSeveralQueues) {
  const int first = free_numbers(6);
  PeerSpec server = datagrams(first, first + 3);
  PeerSpec client = datagrams(first + 3, first);
  server.queues = client.queues = 2;
  expect_echo(server, client);
}

TEST(PortSocket, IsNotUpWithoutAPeer) {
  const int first = free_numbers(4);
  PeerSpec spec = datagrams(first, first + 2);
  spec.patience_s = 1;
  Peer alone(spec);
  EXPECT_NE(alone.wait(), 0);
  EXPECT_NE(alone.output().find("the other side did not connect"), std::string::npos) << alone.output();
}

TEST(PortSocket, CountsWhatTheKernelDropped) {
  if (!dpubench::test::emulator().empty()) GTEST_SKIP() << "the emulator does not hand on the kernel's count (SO_RXQ_OVFL)";
  const int first = free_numbers(4);
  PortSpec near = datagrams(first, first + 2).port;
  PortSpec far = datagrams(first + 2, first).port;
  far.arguments["buffer_kib"] = "4";
  const auto sender = open_port(near, resources());
  const auto receiver = open_port(far, resources());
  constexpr std::uint64_t kSent = 500;
  for (std::uint64_t i = 0; i < kSent; ++i) {
    rte_mbuf* packet = frame(1000, 7);
    ASSERT_EQ(sender->transmit(0, &packet, 1), 1);
  }
  std::uint64_t received = 0;
  std::array<rte_mbuf*, 32> packets{};
  const auto drain = [&] {
    while (const std::uint16_t n = receiver->receive(0, packets.data(), 32)) {
      received += n;
      rte_pktmbuf_free_bulk(packets.data(), n);
    }
  };
  drain();
  // The kernel reports its drops with the next datagram.
  rte_mbuf* last = frame(60, 7);
  ASSERT_EQ(sender->transmit(0, &last, 1), 1);
  drain();
  const auto counters = receiver->counters();
  EXPECT_LT(received, kSent);
  EXPECT_EQ(counters.at("received"), received);
  EXPECT_EQ(counters.at("received") + counters.at("kernel_drops"), kSent + 1);
}

TEST(PortSocket, SaysWhatIsWrongWithItsAddresses) {
  const int first = free_numbers(4);
  const PortSpec spec = datagrams(first, first + 2).port;
  const auto open = open_port(spec, resources());
  EXPECT_NE(fault_of(spec, resources()).find("is in use"), std::string::npos) << fault_of(spec, resources());
  for (const char* wrong :
       {"127.0.0.1", "127.0.0.1:", ":47000", "127.0.0.1:0", "127.0.0.1:65536", "localhost:47000", "1.2.3.4:x"}) {
    const std::string fault = fault_of({"socket", Role::kServer, {{"local", wrong}, {"peer", "127.0.0.1:47000"}}}, resources());
    EXPECT_NE(fault.find("must be an IPv4 address and a port number"), std::string::npos) << wrong << ": " << fault;
  }
  // This is an address of TEST-NET-1 (RFC 5737), which no host has.
  const std::string foreign =
      fault_of({"socket", Role::kServer, {{"local", "192.0.2.1:47000"}, {"peer", "127.0.0.1:47000"}}}, resources());
  EXPECT_NE(foreign.find("must be an address of this machine"), std::string::npos) << foreign;
}

/// Let both sides send as fast as they can, and kill one. The other notices it, has all its packets back and ends well.
void expect_survival(PeerSpec server, PeerSpec client, bool kill_server) {
  server.port.role = Role::kServer;
  client.port.role = Role::kClient;
  server.task = client.task = "flood";
  Peer first(server);
  ASSERT_TRUE(first.wait_ready()) << first.output();
  Peer second(client);
  ASSERT_TRUE(first.wait_up()) << first.output();
  ASSERT_TRUE(second.wait_up()) << second.output();
  usleep(100'000);
  (kill_server ? first : second).kill();
  Peer& survivor = kill_server ? second : first;
  EXPECT_EQ(survivor.wait(), 0) << survivor.output();
}

TEST(Ports, SurviveTheDeathOfTheOtherSide) {
  for (const bool kill_server : {false, true}) {
    for (const char* kind : {"memif", "vhost"}) {
      const TemporaryDirectory folder;
      const PeerSpec spec = at_socket(kind, folder.path() / "s");
      SCOPED_TRACE(std::string(kind) + (kill_server ? ", server killed" : ", client killed"));
      expect_survival(spec, spec, kill_server);
    }
    SCOPED_TRACE(kill_server ? "socket, server killed" : "socket, client killed");
    const int first = free_numbers(4);
    expect_survival(datagrams(first, first + 2), datagrams(first + 2, first), kill_server);
  }
}

}  // namespace
}  // namespace dpubench::datapath::test
