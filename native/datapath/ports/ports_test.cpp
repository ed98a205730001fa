#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_mbuf.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "datapath/memory.hpp"
#include "datapath/ports/peer.hpp"
#include "native/temporary_directory.hpp"

namespace dpubench::datapath::test {
namespace {

namespace fs = std::filesystem;
using dpubench::test::TemporaryDirectory;

/// Every length from the least to the greatest frame that lies at a border of something.
const std::vector<std::uint32_t> kLengths = {64,   65,   66,   127,  128,  129,  590,  1500, 1518, 1519, 2047, 2048,
                                             2049, 2114, 4095, 4096, 4097, 8192, 8999, 9000, 9014, 9017, 9018};

/// What opening a port says is wrong; "" if nothing is.
std::string fault_of(const PortSpec& spec, const PortResources& resources = {}) {
  try {
    static_cast<void>(open_port(spec, resources));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// In this process, once for all tests of it.
rte_mempool* pool() {
  static rte_mempool* const made = [] {
    start_eal({false, 512});
    return make_pool("ports_test", 4095, kMaxFrame);
  }();
  return made;
}

PortResources resources(std::uint32_t max_frame = 1518, std::uint16_t queues = 1) {
  return {pool(), queues, max_frame};
}

rte_mbuf* frame(std::uint32_t bytes, unsigned char content) {
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool());
  std::memset(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes)), content, bytes);
  return packet;
}

/// Frames go from one process to another and back; none is lost and none is changed.
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

/// A Unix socket of a process that is gone: bound, and then closed without being removed.
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
  EXPECT_NE(second.output().find("the other side did not come"), std::string::npos) << second.output();
}

TEST(PortMemif, ServerWithoutAClientIsNotUp) {
  const TemporaryDirectory folder;
  PeerSpec server = at_socket("memif", folder.path() / "s");
  server.patience_s = 0.5;
  Peer alone(server);
  EXPECT_NE(alone.wait(), 0);
  EXPECT_NE(alone.output().find("the other side did not come"), std::string::npos) << alone.output();
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
  for (const char* kind : {"memif", "vhost"}) {
    PeerSpec spec = at_socket(kind, folder.path() / "s");
    spec.port.role = Role::kClient;
    Peer client(spec);
    EXPECT_NE(client.wait(), 0);
    EXPECT_NE(client.output().find("nobody listens at the socket"), std::string::npos) << client.output();
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
  EXPECT_NE(fault.find("somebody listens at the socket " + path.string()), std::string::npos) << fault;
  EXPECT_TRUE(fs::is_socket(path)) << "what belongs to somebody else stays";
}

TEST(PortMemif, RefusesWhatIsNoSocket) {
  const TemporaryDirectory folder;
  const fs::path file = folder.write("file", "mine");
  const std::string fault = fault_of({"memif", Role::kServer, {{"socket", file}}}, resources());
  EXPECT_NE(fault.find("is there and no socket"), std::string::npos) << fault;
  EXPECT_TRUE(fs::exists(file));
  const std::string nowhere = fault_of({"memif", Role::kServer, {{"socket", folder.path() / "no/such/folder/s"}}}, resources());
  EXPECT_NE(nowhere.find("no socket can be made in"), std::string::npos) << nowhere;
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
  EXPECT_NE(fault.find("somebody listens at the socket"), std::string::npos) << fault;
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

/// Numbers that are free now, `count` in a row.
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
  EXPECT_NE(alone.output().find("the other side did not come"), std::string::npos) << alone.output();
}

TEST(PortSocket, CountsWhatTheKernelDropped) {
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
  // The kernel tells of its drops with the next datagram.
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
  // TEST-NET-1 of RFC 5737: nobody's.
  const std::string foreign =
      fault_of({"socket", Role::kServer, {{"local", "192.0.2.1:47000"}, {"peer", "127.0.0.1:47000"}}}, resources());
  EXPECT_NE(foreign.find("must be an address of this machine"), std::string::npos) << foreign;
}

TEST(PortRing, PassesPacketsBetweenSidesOfOneProcess) {
  PortSpec server{"ring", Role::kServer, {{"name", "a"}, {"ring", "64"}}};
  PortSpec client{"ring", Role::kClient, server.arguments};
  const unsigned whole = rte_mempool_avail_count(pool());
  {
    const auto near = open_port(client, resources());
    EXPECT_FALSE(near->is_up());
    const auto far = open_port(server, resources());
    EXPECT_TRUE(near->is_up());
    EXPECT_TRUE(far->is_up());
    EXPECT_TRUE(near->info().shares_buffers);
    std::array<rte_mbuf*, 100> sent{};
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = frame(60, static_cast<unsigned char>(i));
    EXPECT_EQ(near->transmit(0, sent.data(), 100), 64) << "as many as it has room for";
    std::array<rte_mbuf*, 100> received{};
    ASSERT_EQ(far->receive(0, received.data(), 32), 32);
    EXPECT_TRUE(std::equal(received.begin(), received.begin() + 32, sent.begin())) << "the very packets, in order";
    EXPECT_EQ(far->transmit(0, received.data(), 32), 32);
    EXPECT_EQ(near->receive(0, received.data(), 100), 32);
    EXPECT_EQ(near->counters().at("tx_good_packets"), 64);
    EXPECT_EQ(near->counters().at("rx_good_packets"), 32);
    rte_pktmbuf_free_bulk(received.data(), 32);
    rte_pktmbuf_free_bulk(sent.data() + 64, 36);
    EXPECT_NE(fault_of(server, resources()).find("has a server already"), std::string::npos);
  }
  EXPECT_EQ(rte_mempool_avail_count(pool()), whole) << "what was in the rings is given back";
  EXPECT_EQ(fault_of(server, resources()), "") << "closed sides may be opened again";
}

TEST(PortRing, SidesMustAgree) {
  const auto side = open_port({"ring", Role::kServer, {{"name", "b"}}}, resources());
  const std::string fault = fault_of({"ring", Role::kClient, {{"name", "b"}}}, resources(1518, 2));
  EXPECT_NE(fault.find("differ in their queues"), std::string::npos) << fault;
}

TEST(PortNull, TakesEverything) {
  const unsigned whole = rte_mempool_avail_count(pool());
  {
    const auto port = open_port({"null", Role::kClient, {}}, resources(kMaxFrame));
    EXPECT_TRUE(port->is_up());
    for (const std::uint32_t length : kLengths) {
      rte_mbuf* packet = frame(length - kFcsBytes, 1);
      ASSERT_EQ(port->transmit(0, &packet, 1), 1);
    }
    rte_mbuf* packet = nullptr;
    EXPECT_EQ(port->receive(0, &packet, 1), 0);
    EXPECT_EQ(port->counters().at("tx_good_packets"), kLengths.size());
  }
  EXPECT_EQ(rte_mempool_avail_count(pool()), whole);
}

TEST(PortNull, ReceivesWhenAsked) {
  const auto port = open_port({"null", Role::kServer, {{"receives", "yes"}, {"frame", "1000"}}}, resources());
  std::array<rte_mbuf*, 32> packets{};
  ASSERT_EQ(port->receive(0, packets.data(), 32), 32);
  EXPECT_EQ(packets[0]->pkt_len, 1000);
  rte_pktmbuf_free_bulk(packets.data(), 32);
}

TEST(PortPcap, ReadsWhatItWrote) {
  const TemporaryDirectory folder;
  const std::string file = folder.path() / "frames.pcap";
  {
    const auto out = open_port({"pcap", Role::kClient, {{"out", file}}}, resources(kMaxFrame));
    for (const std::uint32_t length : kLengths) {
      rte_mbuf* packet = frame(length - kFcsBytes, static_cast<unsigned char>(length));
      ASSERT_EQ(out->transmit(0, &packet, 1), 1);
    }
    EXPECT_TRUE(out->is_up());
  }
  const auto in = open_port({"pcap", Role::kServer, {{"in", file}}}, resources(kMaxFrame));
  EXPECT_TRUE(in->is_up());
  std::array<rte_mbuf*, 256> packets{};
  ASSERT_EQ(in->receive(0, packets.data(), 256), kLengths.size());
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    EXPECT_EQ(packets[i]->pkt_len, kLengths[i] - kFcsBytes);
    const auto* const data = rte_pktmbuf_mtod(packets[i], const unsigned char*);
    const auto content = static_cast<unsigned char>(kLengths[i]);
    EXPECT_TRUE(std::all_of(data, data + packets[i]->data_len, [content](unsigned char c) { return c == content; }));
    rte_pktmbuf_free(packets[i]);
  }
  EXPECT_EQ(in->counters().at("end_of_file"), 0);
  EXPECT_EQ(in->receive(0, packets.data(), 256), 0);
  EXPECT_FALSE(in->is_up()) << "the end of the file is noticed";
  EXPECT_EQ(in->counters().at("end_of_file"), 1);
}

TEST(PortPcap, SaysWhatIsWrongWithItsFiles) {
  const TemporaryDirectory folder;
  const auto fault = [](const std::string& in, const std::string& out) {
    PortSpec spec{"pcap", Role::kServer, {}};
    if (!in.empty()) spec.arguments["in"] = in;
    if (!out.empty()) spec.arguments["out"] = out;
    return fault_of(spec, resources());
  };
  EXPECT_NE(fault("", "").find("in=FILE, out=FILE or both are missing"), std::string::npos);
  EXPECT_NE(fault(folder.path() / "none", "").find("cannot be read: No such file"), std::string::npos);
  EXPECT_NE(fault(folder.write("text", "no capture at all, and longer than a header"), "").find("is no capture"),
            std::string::npos);
  EXPECT_NE(fault(folder.write("empty", ""), "").find("is no capture"), std::string::npos);
  // LINKTYPE_RAW (101): IP packets without an Ethernet header.
  std::string raw("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0", 24);
  EXPECT_NE(fault(folder.write("raw", raw), "").find("its link type is 101"), std::string::npos);
  EXPECT_NE(fault("", folder.path() / "no/folder/out").find("cannot be written"), std::string::npos);
  raw[20] = 1;
  const std::string file = folder.write("ethernet", raw);
  EXPECT_NE(fault(file, file).find("the same file"), std::string::npos);
}

TEST(PortKernelInterfaces, SayWhatIsWrongWithThem) {
  for (const char* kind : {"af_packet", "af_xdp"}) {
    const std::string fault = fault_of({kind, Role::kServer, {{"interface", "nosuch0"}}}, resources());
    const bool refused = fault.find("there is no interface 'nosuch0'") != std::string::npos ||
                         fault.find("this process lacks the right CAP_NET") != std::string::npos;
    EXPECT_TRUE(refused) << fault;
  }
}

TEST(PortPci, SaysWhyThereIsNone) {
  const std::string fault = fault_of({"pci", Role::kServer, {{"address", "ffff:ff:1f.7"}}}, resources());
  const bool refused = fault.find("no network card on PCI") != std::string::npos ||
                       fault.find("there is no PCI device ffff:ff:1f.7 here") != std::string::npos;
  EXPECT_TRUE(refused) << fault;
  EXPECT_EQ(
      port_devices(std::vector<PortSpec>{{"pci", Role::kServer, {{"address", "0000:03:00.0"}}}, {"null", Role::kServer, {}}}),
      std::vector<std::string>{"0000:03:00.0"});
}

TEST(Ports, UnknownKindsAndArgumentsAreNamed) {
  EXPECT_EQ(fault_of({"menif", Role::kServer, {}}), "there is no kind of port 'menif'; did you mean 'memif'?");
  EXPECT_NE(fault_of({"quantum", Role::kServer, {}}).find("known: af_packet, af_xdp, memif"), std::string::npos);
  EXPECT_EQ(fault_of({"memif", Role::kServer, {{"sockt", "/s"}}}),
            "port memif: there is no argument 'sockt'; did you mean 'socket'?");
  EXPECT_NE(fault_of({"memif", Role::kServer, {}}).find("the argument 'socket' is missing"), std::string::npos);
  EXPECT_NE(fault_of({"memif", Role::kServer, {{"socket", "/s,role=client"}}}).find("commas"), std::string::npos);
  EXPECT_NE(fault_of({"memif", Role::kServer, {{"socket", "/tmp/s"}, {"ring", "1000"}}}, resources()).find("power of two"),
            std::string::npos);
  EXPECT_NE(fault_of({"null", Role::kServer, {{"receives", "perhaps"}}}, resources()).find("must be yes or no"),
            std::string::npos);
}

TEST(Ports, CatalogHoldsEveryKind) {
  const nlohmann::json catalog = port_catalog();
  std::vector<std::string> names;
  for (const nlohmann::json& kind : catalog) {
    names.push_back(kind.at("name"));
    EXPECT_EQ(kind.at("available").get<bool>(), kind.at("reason").get<std::string>().empty());
    EXPECT_EQ(kind.at("is_virtual").get<bool>(), kind.at("name") != "pci");
    EXPECT_FALSE(kind.at("summary").get<std::string>().empty());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"af_packet", "af_xdp", "memif", "null", "pcap", "pci", "ring", "socket", "tap", "vhost"}));
}

TEST(Memory, HugePagesThatAreNotThereAreSaidSo) {
  PeerSpec spec;
  spec.port.kind = "null";
  spec.huge_pages = true;
  spec.memory_mb = 1U << 20;  // a tebibyte
  Peer wanting(spec);
  EXPECT_NE(wanting.wait(), 0);
  EXPECT_NE(wanting.output().find("huge pages: 1048576 MiB are wanted"), std::string::npos) << wanting.output();
  EXPECT_NE(wanting.output().find("vm.nr_hugepages"), std::string::npos) << wanting.output();
}

TEST(Memory, PoolsThatDoNotFitAreRefused) {
  static_cast<void>(pool());
  EXPECT_THROW(make_pool("too_many", 10'000'000, kMaxFrame), Error);
  EXPECT_THROW(make_pool("too_long", 16, kMaxFrame + 1), Error);
}

TEST(Memory, TheEalLeavesNoFolder) {
  static_cast<void>(pool());
  std::error_code none;
  EXPECT_FALSE(fs::exists("/var/run/dpdk/dpubench-" + std::to_string(getpid()), none));
}

}  // namespace
}  // namespace dpubench::datapath::test
