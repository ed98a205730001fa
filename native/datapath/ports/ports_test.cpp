#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "datapath/ports/peer.hpp"
#include "datapath/ports/testing.hpp"
#include "native/temporary_directory.hpp"

namespace dpubench::datapath::test {
namespace {

namespace fs = std::filesystem;
using dpubench::test::TemporaryDirectory;

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

/// A state without root's rights. It ends when this object is destroyed.
class Unprivileged {
 public:
  Unprivileged() { switched_ = geteuid() == 0 && seteuid(65534) == 0; }
  ~Unprivileged() {
    if (switched_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool switched_ = false;
};

TEST(PortSockets, WhatIsOutOfReachIsSaidToBe) {
  ASSERT_NE(pool(), nullptr);
  const dpubench::test::TemporaryDirectory folder;
  const std::string path = folder.path() / "s";
  ASSERT_EQ(chmod(folder.path().c_str(), 0), 0);
  std::vector<std::string> faults;
  {
    const Unprivileged unprivileged;
    for (const char* kind : {"memif", "vhost"}) {
      for (const Role role : {Role::kServer, Role::kClient}) {
        faults.push_back(fault_of({kind, role, {{"socket", path}}}, resources()));
      }
    }
  }
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  for (const std::string& fault : faults) {
    EXPECT_NE(fault.find(path + " may not be opened by this user"), std::string::npos) << fault;
  }
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
  EXPECT_NE(fault("", "").find("there is no file: give in=FILE, out=FILE or both"), std::string::npos);
  EXPECT_NE(fault(folder.path() / "none", "").find("cannot be read: No such file"), std::string::npos);
  EXPECT_NE(fault(folder.write("text", "no capture at all, and longer than a header"), "").find("is not a capture"),
            std::string::npos);
  EXPECT_NE(fault(folder.write("empty", ""), "").find("is not a capture"), std::string::npos);
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
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const char* known : {"af_packet", "af_xdp", "memif", "null", "pcap", "pci", "ring", "socket", "tap", "vhost"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), known), names.end()) << known;
  }
}

TEST(Memory, HugePagesThatAreNotThereAreSaidSo) {
  PeerSpec spec;
  spec.port.kind = "null";
  spec.huge_pages = true;
  spec.memory_mb = 1U << 20;  // a tebibyte
  Peer wanting(spec);
  EXPECT_NE(wanting.wait(), 0);
  EXPECT_NE(wanting.output().find("huge pages: packets need 1048576 MiB"), std::string::npos) << wanting.output();
  EXPECT_NE(wanting.output().find("vm.nr_hugepages"), std::string::npos) << wanting.output();
}

TEST(Pools, BuffersShareAPageInPowersOfTwo) {
  constexpr std::uint32_t kSmall = 4096;
  constexpr std::uint32_t kLarge = 65536;
  EXPECT_EQ(share_of_page(2368, kSmall), 4096U);
  EXPECT_EQ(share_of_page(2368, kLarge), 4096U);
  EXPECT_EQ(share_of_page(4096, kSmall), 4096U);
  EXPECT_EQ(share_of_page(9600, kSmall), 0U);
  EXPECT_EQ(share_of_page(9600, kLarge), 16384U);
}

/// Expect a pool whose buffers for frames of 1518 B lie side by side, each in `share` bytes.
void expect_side_by_side(rte_mempool* pool, std::uintptr_t share) {
  if (rte_eal_has_hugepages() != 0) GTEST_SKIP() << "the tests have huge pages";
  EXPECT_EQ(rte_mempool_calc_obj_size(pool->elt_size, pool->flags, nullptr), share);
  EXPECT_EQ(pool->nb_mem_chunks, 1U);
  std::vector<std::uintptr_t> places;
  rte_mempool_obj_iter(
      pool,
      [](rte_mempool*, void* all, void* object, unsigned) {
        static_cast<std::vector<std::uintptr_t>*>(all)->push_back(reinterpret_cast<std::uintptr_t>(object));
      },
      &places);
  ASSERT_EQ(places.size(), 1000U);
  std::sort(places.begin(), places.end());
  // A smaller buffer may also lie in the part of a page in which the pool's memory begins.
  for (std::size_t i = share < 4096 ? 2 : 1; i < places.size(); ++i) ASSERT_EQ(places[i] - places[i - 1], share) << i;
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool);
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->data_off, RTE_PKTMBUF_HEADROOM);
  EXPECT_GE(packet->buf_len, RTE_PKTMBUF_HEADROOM + 1518);
  EXPECT_EQ(packet->pool, pool);
  rte_pktmbuf_free(packet);
  rte_mempool_free(pool);
}

TEST(Pools, WithoutHugePagesBuffersFillPagesSideBySide) {
  expect_side_by_side(make_pool("side_by_side", 1000, 1518), 4096);
}

TEST(Pools, TwoBuffersThatAreOnlySentShareAPage) {
  expect_side_by_side(make_sending_pool("only_sent", 1000, 1518), 2048);
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
