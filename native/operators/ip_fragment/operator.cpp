// ip_fragment: divides a datagram that is longer than the link allows into fragments (RFC 791, RFC 8200).

#include <algorithm>
#include <array>

#include "operators/ip_fragment/packet.hpp"
#include "operators/support/division/dividing.hpp"

namespace dpubench {
namespace {

using namespace segments;

constexpr std::size_t kUdpHeader = 8;

class IpFragmentOperator final : public DividingOperator {
 public:
  IpFragmentOperator()
      : DividingOperator({.name = "UDP",
                          .header = kUdpHeader,
                          .udp_share = 1,
                          .input = "datagram",
                          .output = "fragment",
                          .passthrough = "every datagram fits the MTU already and is not fragmented"}) {}

  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [this] {
      OperatorInfo i = common_info("ip_fragment", {"1024", "4096", "8192", "65000"}, "8192");
      i.summary = "IP fragmentation, with the header checksums of every fragment";
      i.definition =
          "in: a datagram from its IP header on (IPv4 without options; IPv6 without hop-by-hop, routing or fragment header). "
          "aux: the 4-byte identification of the IPv6 fragment header (IPv4 keeps the datagram's). out: its fragments in order, "
          "with valid IPv4 header checksums. Each fragment has at most `mtu` bytes from the IP header on, and all but the last "
          "are as full as the MTU and the 8-byte unit allow. variant=copy: out is, per packet, a u32 length and the packet. "
          "variant=zero_copy: out is, per packet, a 12-byte descriptor (u32 payload offset in `in`, u32 payload length, u16 "
          "header length, u16 zero) and the headers. variant=mbuf: each packet is a chain of DPDK mbufs: a header and a part of "
          "the input. The mbufs are given back after as many packets as the buffers hold. The packets are judged as the records "
          "of zero_copy. A datagram that fits already stays as it is. result: number of packets. One operation is one datagram. "
          "An input is rejected if it is not such a datagram, or if it is too long and must not be fragmented.";
      i.equivalence_text =
          "the fragments reassemble to the input, their offsets and flags are right, they fit the MTU, and every header checksum "
          "is "
          "valid";
      i.primary_metric = "mops";  // zero_copy reads headers only
      i.sources = {"RFC 791 section 3.2 and appendix A", "RFC 8200 section 4.5"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override;

  /// Return the input bytes if the variant copies the payload; otherwise only headers are touched.
  [[nodiscard]] std::uint64_t rate_bytes(const Work& work, const WindowTotals& totals) const override {
    return reads_payload(work.params) ? totals.in_bytes : 0;
  }

 protected:
  [[nodiscard]] Layout layout(bool v4, std::size_t mtu, std::span<const std::byte> in) const override {
    return ip_fragment::layout(v4, mtu, in.data(), in.size());
  }

  void finish(Item& item, bool v4, inputs::Random& random) const override {
    if (v4) return;
    item.aux.resize(ip_fragment::kAuxBytes);
    random.fill(item.aux);
  }

  [[nodiscard]] std::string misfit(const Piece& piece) const override {
    const std::size_t payload = piece.payload_bytes();
    if (fits(piece)) return piece.last ? "" : "the datagram fits the MTU, but was cut";
    if (payload == 0) return "no payload";
    if (piece.last || (payload % ip_fragment::kUnit == 0 && piece.mtu - piece.packet.size() < ip_fragment::kUnit)) return {};
    return std::to_string(payload) + " bytes of payload: not a multiple of 8, or less than fits";
  }

  void expect(const Piece& piece, std::vector<std::byte>& headers) const override {
    if (fits(piece)) return;
    if (piece.v4) {
      put16(&headers[ip4::kFragment],
            (piece.last ? 0U : ip4::kMoreFragments) + static_cast<std::uint32_t>(piece.offset / ip_fragment::kUnit));
      return;
    }
    headers.push_back(headers[ip6::kNextHeader]);
    headers[ip6::kNextHeader] = std::byte{packet::protocol::kFragment};
    headers.resize(piece.headers);
    put16(&headers[piece.ip + 2], piece.offset + (piece.last ? 0U : 1U));
    std::copy_n(piece.item.aux.begin(), ip_fragment::kAuxBytes, &headers[piece.ip + 4]);
  }

 private:
  static bool fits(const Piece& piece) { return piece.item.in.size() <= piece.mtu; }
};

/// The example of RFC 791, and packets made by hand from the rules of RFC 791 and RFC 8200. A separate program computed the
/// header checksums.
std::vector<KnownAnswer> IpFragmentOperator::known_answers(const Params& params) const {
  std::vector<KnownAnswer> answers;
  const auto add = [&](const char* name, std::uint64_t mtu, std::string_view headers, std::size_t payload, std::string_view aux,
                       std::span<const Line> lines) {
    answers.push_back(known_answer(params, name, mtu, headers, payload, aux, lines));
  };
  if (params.is("ip_version", "4")) {
    add("RFC 791 appendix A, example 2", 280, "450001d8 006f0000 7b06517a c0000201 c6336402", 452, "",
        std::array<Line, 2>{{{"45000114 006f2000 7b06323e c0000201 c6336402", 0, 256},
                             {"450000d8 006f0020 7b06525a c0000201 c6336402", 256, 196}}});
    add("RFC 791 section 3.2, a fragment of a fragment", 68, "45000078 006f200a 7b0632d0 c0000201 c6336402", 100, "",
        std::array<Line, 3>{{{"45000044 006f200a 7b063304 c0000201 c6336402", 0, 48},
                             {"45000044 006f2010 7b0632fe c0000201 c6336402", 48, 48},
                             {"45000018 006f2016 7b063324 c0000201 c6336402", 96, 4}}});
    add("don't fragment, fits", 68, "45000044 006f4000 7b06130e c0000201 c6336402", 48, "",
        std::array<Line, 1>{{{"45000044 006f4000 7b06130e c0000201 c6336402", 0, 48}}});
    add("don't fragment, too long: rejected", 68, "45000045 006f4000 7b06130d c0000201 c6336402", 49, "", {});
    add("wrong length: rejected", 68, "45000045 006f0000 7b06530d c0000201 c6336402", 100, "", {});
  } else {
    constexpr std::string_view kAddresses = " 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002";
    const std::string input = "60000000 05141140" + std::string(kAddresses);
    const std::string first = "60000000 04d82c40" + std::string(kAddresses) + " 11000001 deadbeef";
    const std::string second = "60000000 004c2c40" + std::string(kAddresses) + " 110004d0 deadbeef";
    add("RFC 8200 section 4.5", 1280, input, 1300, "deadbeef", std::array<Line, 2>{{{first, 0, 1232}, {second, 1232, 68}}});
    add("fits", 1340, input, 1300, "deadbeef", std::array<Line, 1>{{{input, 0, 1300}}});
    add("hop-by-hop options: rejected", 1280, "60000000 05140040" + std::string(kAddresses), 1300, "deadbeef", {});
    add("a fragment: rejected", 1280, "60000000 05142c40" + std::string(kAddresses), 1300, "deadbeef", {});
  }
  return answers;
}

DPUBENCH_OPERATOR(IpFragmentOperator);

}  // namespace
}  // namespace dpubench
