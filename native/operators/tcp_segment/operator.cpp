// tcp_segment: a TCP packet longer than the link allows becomes packets that fit (TCP segmentation offload, in software).

#include <algorithm>
#include <array>

#include "inputs/traffic.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"
#include "operators/tcp_segment/packet.hpp"

namespace dpubench {
namespace {

using namespace segments;

constexpr std::uint64_t kLeastMtu6 = 1280;  // RFC 8200 section 5
// The whole input stays within the 65,535 bytes that an IPv4 total length and a DPDK buffer can name, with either IP version.
constexpr std::uint64_t kLongestPayload = 65535 - ip6::kHeader - tcp::kHeader;

Variant variant_of(const Params& params) {
  return params.is("variant", "copy") ? Variant::kCopy : Variant::kZeroCopy;
}

/// A packet of a known answer: how its header reads, and which bytes of the input's payload follow.
struct Line {
  std::string_view header;
  std::size_t offset;
  std::size_t length;
};

class TcpSegmentOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "tcp_segment";
      i.scenarios = {"network"};
      i.summary = "TCP segmentation (TSO in software), with the checksums of every packet";
      i.definition =
          "in: a TCP packet from its IP header on (IPv4 without options, IPv6 without extension headers; TCP options are kept on "
          "every "
          "packet). out: the packets that it becomes, each at most `mtu` bytes from the IP header on and all but the last as "
          "full as "
          "that allows, with valid IPv4 header and TCP checksums; those of the input are ignored. IPv4 identifications count up "
          "from the input's; FIN and PSH stay on the last packet only, CWR on the first only. variant=copy: out is, per packet, "
          "a "
          "u32 length and the packet. variant=zero_copy: out is, per packet, a 12-byte descriptor (u32 payload offset in `in`, "
          "u32 "
          "payload length, u16 header length, u16 zero) and the header. An input that fits already becomes one packet. result: "
          "number of packets. One operation is one input packet. Something that is no such packet is rejected.";
      i.parameters = {
          {"ip_version", "IP version of the packet", {"4", "6"}, "4", true, "", 0, 0},
          {"variant",
           "payload copied behind each header, or left in place and named",
           {"copy", "zero_copy"},
           "copy",
           true,
           "",
           0,
           0},
          {"mtu", "longest packet, from the IP header on", {"576", "1280", "1500", "9000"}, "1500", false, "B", 576, 65535},
          {"size", "TCP payload bytes of the input", {"1024", "8960", "16384", "65000"}, "8960", false, "B", 1, kLongestPayload}};
      i.equivalence = Equivalence::kChecked;
      i.equivalence_text =
          "the packets carry the input's payload in sequence, differ from its headers only where the definition says, fit the "
          "MTU, and "
          "every checksum is valid";
      i.primary_metric = "gbps";
      i.uses_result = true;
      i.processes_all_bytes = true;
      i.metrics = {{"packets_per_operation", "1", "packets that an input becomes", true}};
      i.reference_engine = "portable";
      i.sources = {"RFC 9293 section 3.1", "RFC 791 section 3.1", "RFC 8200 sections 3 and 8.1", "RFC 3168 section 6.1.2"};
      i.distinct_items = 64;
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    if (params.is("ip_version", "6") && params.number("mtu") < kLeastMtu6)
      return "IPv6 needs an MTU of at least 1280 bytes (RFC 8200)";
    return {};
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<Work>();
    const bool v4 = params.is("ip_version", "4");
    inputs::Random random = store.random("tcp_segment");
    inputs::TrafficModel model;
    model.version = v4 ? 4 : 6;
    model.udp_share = 0;
    const std::size_t headers = (v4 ? ip4::kHeader : ip6::kHeader) + tcp::kHeader;
    model.sizes = {{static_cast<std::uint32_t>(headers + params.number("size")), 1.0}};
    const inputs::Traffic traffic = inputs::generate_traffic(model, size.items, random);
    for (const inputs::ModelPacket& packet : traffic.packets) {
      Item& item = work->items.emplace_back();
      item.in = inputs::make_packet(traffic.flows[packet.flow], packet.ip_length, random);
      std::byte* const ip = item.in.data();
      std::byte* const header = ip + (v4 ? ip4::kHeader : ip6::kHeader);
      // A burst of a sender ends with PSH; one in eight ends the connection, one in eight answers a congestion mark.
      header[tcp::kFlags] |= tcp::kPsh;
      if (random.below(8) == 0) header[tcp::kFlags] |= tcp::kFin;
      if (random.below(8) == 0) header[tcp::kFlags] |= tcp::kCwr;
      put16(header + tcp::kChecksum, 0);  // as a stack leaves it to the segmentation
      if (v4) {
        put16(ip + ip4::kFragment, ip4::kDontFragment);
        put16(ip + ip4::kChecksum, 0);
      }
      const tcp_segment::Layout l = tcp_segment::layout(v4, params.number("mtu"), ip, item.in.size());
      item.out_room = static_cast<std::uint32_t>(record_bytes(variant_of(params), l.packets, l.header, l.payload));
    }
    describe_generated(*work, store, "tcp_segment");
    work->input_name = "traffic model: " + std::to_string(model.flows) + " TCP flows over IPv" + params.text("ip_version") +
                       ", Zipf, seed " + std::to_string(store.seed());
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override;

  [[nodiscard]] std::string check(const Work& work, std::size_t item, const Output& got, const Output* want) const override {
    if (want != nullptr) return Operator::check(work, item, got, want);
    if (got.status != kStatusOk) return "status " + std::to_string(got.status);
    const std::span<const std::byte> input(work.items[item].in);
    std::vector<Packet> packets;
    if (std::string wrong = parse(variant_of(work.params), input, got.bytes, packets); !wrong.empty()) return wrong;
    if (packets.size() != got.result)
      return "result " + std::to_string(got.result) + " for " + std::to_string(packets.size()) + " packets";
    const bool v4 = work.params.is("ip_version", "4");
    const std::size_t ip = v4 ? ip4::kHeader : ip6::kHeader;
    const std::size_t header = ip + 4 * std::to_integer<std::size_t>(input[ip + tcp::kDataOffset] >> 4);
    const std::size_t mtu = work.params.number("mtu");
    std::size_t at = header;
    for (std::size_t k = 0; k < packets.size(); ++k) {
      const std::span<const std::byte> packet(packets[k].bytes);
      const bool first = k == 0;
      const bool last = k + 1 == packets.size();
      const auto wrong = [&](const std::string& what) { return "packet " + std::to_string(k) + ": " + what; };
      if (packet.size() < header || packet.size() > mtu) return wrong(std::to_string(packet.size()) + " bytes");
      if (!last && packet.size() != mtu) return wrong("not as full as the MTU allows");
      const auto payload = packet.subspan(header);
      if (payload.size() > input.size() - at ||
          !std::equal(payload.begin(), payload.end(), input.begin() + static_cast<std::ptrdiff_t>(at))) {
        return wrong("its payload is not the input's from byte " + std::to_string(at - header) + " on");
      }
      // The header must be the input's, but for what has to change.
      std::vector<std::byte> should(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(header));
      put32(&should[ip + tcp::kSequence], get32(&input[ip + tcp::kSequence]) + static_cast<std::uint32_t>(at - header));
      std::byte& flags = should[ip + tcp::kFlags];
      if (!last) flags = flags & ~std::byte{0x09};   // FIN, PSH
      if (!first) flags = flags & ~std::byte{0x80};  // CWR
      std::copy_n(packet.begin() + static_cast<std::ptrdiff_t>(ip + tcp::kChecksum), 2, &should[ip + tcp::kChecksum]);
      if (v4) {
        put16(&should[ip4::kTotalLength], static_cast<std::uint32_t>(packet.size()));
        put16(&should[ip4::kIdentification], get16(&input[ip4::kIdentification]) + static_cast<std::uint32_t>(k));
        std::copy_n(packet.begin() + ip4::kChecksum, 2, &should[ip4::kChecksum]);
        if (plain_sum(0, packet.first(ip)) != 0xffff) return wrong("its IPv4 header checksum is not valid");
      } else {
        put16(&should[ip6::kPayloadLength], static_cast<std::uint32_t>(packet.size() - ip));
      }
      const auto [a, b] = std::mismatch(should.begin(), should.end(), packet.begin());
      if (a != should.end()) return wrong("byte " + std::to_string(a - should.begin()) + " of its headers");
      const auto pseudo = static_cast<std::uint32_t>(packet.size() - ip + 6);
      const auto addresses =
          v4 ? packet.subspan(ip4::kAddresses, ip4::kAddressBytes) : packet.subspan(ip6::kAddresses, ip6::kAddressBytes);
      if (plain_sum(plain_sum(pseudo, addresses), packet.subspan(ip)) != 0xffff) return wrong("its TCP checksum is not valid");
      at += payload.size();
    }
    if (at != input.size()) return "the payload ends after " + std::to_string(at - header) + " bytes";
    return {};
  }

  [[nodiscard]] std::vector<double> metrics(const Work&, const WindowTotals& totals) const override {
    return {static_cast<double>(totals.result_sum) / static_cast<double>(std::max<std::uint64_t>(1, totals.operations))};
  }

  [[nodiscard]] std::optional<Remark> remark(const Work& work, const WindowTotals&) const override {
    const std::uint64_t mtu = work.params.number("mtu");
    if (!std::all_of(work.items.begin(), work.items.end(), [&](const Item& i) { return i.in.size() <= mtu; }))
      return std::nullopt;
    return Remark{"passthrough", "every input fits the MTU already: only its checksums are computed"};
  }
};

/// Packets made by hand from RFC 791, 8200, 9293 and 3168; their checksums were computed by a separate program. The sequence
/// number and the IPv4 identification pass their ends, every flag that moves is set, and one set has TCP timestamps (RFC 7323).
std::vector<KnownAnswer> TcpSegmentOperator::known_answers(const Params& params) const {
  std::vector<std::byte> payload(50);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(7 * i + 3);
  std::vector<KnownAnswer> answers;
  const auto add = [&](const char* name, std::uint64_t mtu, std::string_view header, std::span<const Line> lines) {
    auto work = std::make_unique<Work>();
    work->params = params;
    work->params.set("mtu", mtu);
    Item& item = work->items.emplace_back();
    item.in = from_hex(header);
    const std::size_t headers = item.in.size();
    item.in.insert(item.in.end(), payload.begin(), payload.end());
    std::vector<Expected> packets;
    for (const Line& line : lines) packets.push_back({from_hex(line.header), headers + line.offset, line.length});
    const std::vector<std::byte> out = encode(variant_of(params), item.in, packets);
    item.out_room = static_cast<std::uint32_t>(std::max<std::size_t>(1, out.size()));
    work->expected.push_back({out, packets.size(), packets.empty() ? kStatusRejected : kStatusOk});
    answers.push_back({name, std::move(work)});
  };
  if (params.is("ip_version", "4")) {
    constexpr std::string_view kInput =
        "4500005a ffff4000 40060000 c0000201 c6336402 12340050 ffffffec 00000001 50992000 00000000";
    add("RFC 9293, three packets over IPv4", 60, kInput,
        std::array<Line, 3>{
            {{"4500003c ffff4000 40064e85 c0000201 c6336402 12340050 ffffffec 00000001 50902000 f9ba0000", 0, 20},
             {"4500003c 00004000 40064e85 c0000201 c6336402 12340050 00000000 00000001 50102000 7eab0000", 20, 20},
             {"45000032 00014000 40064e8e c0000201 c6336402 12340050 00000014 00000001 50192000 7cba0000", 40, 10}}});
    add("RFC 7323 timestamps over IPv4", 72,
        "45000066 ffff4000 40060000 c0000201 c6336402 12340050 ffffffec 00000001 80992000 00000000 0101080a 01020304 05060708",
        std::array<Line, 3>{
            {{"45000048 ffff4000 40064e79 c0000201 c6336402 12340050 ffffffec 00000001 80902000 b08f0000 0101080a "
              "01020304 05060708",
              0, 20},
             {"45000048 00004000 40064e79 c0000201 c6336402 12340050 00000000 00000001 80102000 35800000 0101080a "
              "01020304 05060708",
              20, 20},
             {"4500003e 00014000 40064e82 c0000201 c6336402 12340050 00000014 00000001 80192000 338f0000 0101080a "
              "01020304 05060708",
              40, 10}}});
    add("pass-through over IPv4", 90, kInput,
        std::array<Line, 1>{
            {{"4500005a ffff4000 40064e67 c0000201 c6336402 12340050 ffffffec 00000001 50992000 d3030000", 0, 50}}});
    // RFC 791: a first fragment is no whole packet; a wrong total length is none either.
    add("fragment rejected", 60, "4500005a ffff2000 40060000 c0000201 c6336402 12340050 ffffffec 00000001 50992000 00000000", {});
    add("wrong length rejected", 60, "4500005b ffff4000 40060000 c0000201 c6336402 12340050 ffffffec 00000001 50992000 00000000",
        {});
  } else {
    constexpr std::string_view kInput =
        "60000000 00460640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 ffffffec 00000001 "
        "50992000 00000000";
    add("RFC 9293, three packets over IPv6", 80, kInput,
        std::array<Line, 3>{
            {{"60000000 00280640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "ffffffec 00000001 50902000 8a7d0000",
              0, 20},
             {"60000000 00280640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "00000000 00000001 50102000 0f6e0000",
              20, 20},
             {"60000000 001e0640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "00000014 00000001 50192000 0d7d0000",
              40, 10}}});
    add("RFC 7323 timestamps over IPv6", 92,
        "60000000 00520640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 ffffffec 00000001 "
        "80992000 00000000 0101080a 01020304 05060708",
        std::array<Line, 3>{
            {{"60000000 00340640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "ffffffec 00000001 80902000 41520000 0101080a 01020304 05060708",
              0, 20},
             {"60000000 00340640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "00000000 00000001 80102000 c6420000 0101080a 01020304 05060708",
              20, 20},
             {"60000000 002a0640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "00000014 00000001 80192000 c4510000 0101080a 01020304 05060708",
              40, 10}}});
    add("pass-through over IPv6", 110, kInput,
        std::array<Line, 1>{
            {{"60000000 00460640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 "
              "ffffffec 00000001 50992000 63c60000",
              0, 50}}});
    add("hop-by-hop options rejected", 80,
        "60000000 00460040 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 12340050 ffffffec 00000001 "
        "50992000 00000000",
        {});
  }
  return answers;
}

DPUBENCH_OPERATOR(TcpSegmentOperator);

}  // namespace
}  // namespace dpubench
