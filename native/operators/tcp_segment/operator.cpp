// tcp_segment: divides a TCP packet that is longer than the link allows into packets that fit (TCP segmentation offload, in
// software).

#include <array>

#include "operators/support/division/dividing.hpp"
#include "operators/tcp_segment/packet.hpp"
#include "packet/checksum_oracle.hpp"

namespace dpubench {
namespace {

using namespace segments;

class TcpSegmentOperator final : public DividingOperator {
 public:
  TcpSegmentOperator()
      : DividingOperator({.name = "TCP",
                          .header = tcp::kHeader,
                          .udp_share = 0,
                          .input = "packet",
                          .output = "packet",
                          .passthrough = "every input fits the MTU already: only its checksums are computed"}) {}

  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [this] {
      OperatorInfo i = common_info("tcp_segment", {"1024", "8960", "16384", "65000"}, "8960");
      i.summary = "TCP segmentation (TSO in software), with the checksums of every packet";
      i.definition =
          "in: a TCP packet from its IP header on (IPv4 without options, IPv6 without extension headers; TCP options are kept on "
          "every packet). out: the packets that it becomes, with valid IPv4 header and TCP checksums; the checksums of the input "
          "are ignored. Each packet has at most `mtu` bytes from the IP header on, and all but the last are as full as that "
          "allows. IPv4 identifications count up from the input's; FIN and PSH stay on the last packet only, CWR on the first "
          "only. variant=copy: out is, per packet, a u32 length and the packet. variant=zero_copy: out is, per packet, a 12-byte "
          "descriptor (u32 payload offset in `in`, u32 payload length, u16 header length, u16 zero) and the header. "
          "variant=mbuf: each packet is a chain of DPDK mbufs: a header and a part of the input. The mbufs are given back after "
          "as many packets as the buffers hold. The packets are judged as the records of zero_copy. An input that fits already "
          "becomes one packet. result: number of packets. One operation is one input packet. An input that is not such a packet "
          "is rejected.";
      i.equivalence_text =
          "the packets carry the input's payload in sequence, differ from its headers only where the definition says, fit the "
          "MTU, and "
          "every checksum is valid";
      i.primary_metric = "gbps";  // zero_copy sums all bytes too
      i.sources = {"RFC 9293 section 3.1", "RFC 791 section 3.1", "RFC 8200 sections 3 and 8.1", "RFC 3168 section 6.1.2"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override;

 protected:
  [[nodiscard]] Layout layout(bool v4, std::size_t mtu, std::span<const std::byte> in) const override {
    return tcp_segment::layout(v4, mtu, in.data(), in.size());
  }

  [[nodiscard]] bool reads_payload(const Params&) const override { return true; }  // to compute its checksum

  void finish(Item& item, bool v4, inputs::Random& random) const override {
    std::byte* const ip = item.in.data();
    std::byte* const header = ip + (v4 ? ip4::kHeader : ip6::kHeader);
    // A sender's burst ends with PSH. One in eight ends the connection, and one in eight answers a congestion mark.
    header[tcp::kFlags] |= tcp::kPsh;
    if (random.below(8) == 0) header[tcp::kFlags] |= tcp::kFin;
    if (random.below(8) == 0) header[tcp::kFlags] |= tcp::kCwr;
    put16(header + tcp::kChecksum, 0);  // a stack leaves the checksum to the segmentation
    if (v4) {
      put16(ip + ip4::kFragment, ip4::kDontFragment);
      put16(ip + ip4::kChecksum, 0);
    }
  }

  [[nodiscard]] std::string misfit(const Piece& piece) const override {
    return piece.last || piece.packet.size() == piece.mtu ? "" : "not as full as the MTU allows";
  }

  void expect(const Piece& piece, std::vector<std::byte>& headers) const override {
    std::byte* const header = &headers[piece.ip];
    put32(header + tcp::kSequence, get32(header + tcp::kSequence) + piece.offset);
    std::byte& flags = header[tcp::kFlags];
    if (!piece.last) flags &= ~(tcp::kFin | tcp::kPsh);
    if (piece.index != 0) flags &= ~tcp::kCwr;
    std::copy_n(&piece.packet[piece.ip + tcp::kChecksum], 2, header + tcp::kChecksum);  // judged by flaw()
    if (piece.v4) {
      std::byte* const identification = &headers[ip4::kIdentification];
      put16(identification, get16(identification) + static_cast<std::uint32_t>(piece.index));
    }
  }

  [[nodiscard]] std::string flaw(const Piece& piece) const override {
    // Pseudo header: RFC 9293 section 3.1, RFC 8200 section 8.1.
    const auto pseudo = static_cast<std::uint32_t>(piece.packet.size() - piece.ip) + packet::protocol::kTcp;
    const auto addresses = piece.v4 ? piece.packet.subspan(ip4::kAddresses, ip4::kAddressBytes)
                                    : piece.packet.subspan(ip6::kAddresses, ip6::kAddressBytes);
    const std::uint32_t sum = checksum::plain_sum(checksum::plain_sum(pseudo, addresses), piece.packet.subspan(piece.ip));
    return sum == 0xffff ? "" : "its TCP checksum is not valid";
  }
};

/// Packets made by hand from RFC 791, 8200, 9293 and 3168. A separate program computed their checksums. The sequence number and
/// the IPv4 identification overflow, every flag that moves is set, and one set has TCP timestamps (RFC 7323).
std::vector<KnownAnswer> TcpSegmentOperator::known_answers(const Params& params) const {
  constexpr std::size_t kPayload = 50;
  std::vector<KnownAnswer> answers;
  const auto add = [&](const char* name, std::uint64_t mtu, std::string_view headers, std::span<const Line> lines) {
    answers.push_back(known_answer(params, name, mtu, headers, kPayload, "", lines));
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
    // RFC 791: a first fragment is no whole packet, and neither is a packet with a wrong total length.
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
