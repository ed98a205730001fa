// ip_fragment: a datagram longer than the link allows becomes fragments (RFC 791, RFC 8200).

#include <algorithm>
#include <array>

#include "inputs/traffic.hpp"
#include "operators/ip_fragment/packet.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

using namespace segments;

constexpr std::uint64_t kLeastMtu6 = 1280;  // RFC 8200 section 5
constexpr std::size_t kUdpHeader = 8;
// The whole input stays within the 65,535 bytes that an IPv4 total length and a DPDK buffer can name, with either IP version.
constexpr std::uint64_t kLongestPayload = 65535 - ip6::kHeader - kUdpHeader;

Variant variant_of(const Params& params) {
  return params.is("variant", "copy") ? Variant::kCopy : Variant::kZeroCopy;
}

/// A packet of a known answer: how its headers read, and which bytes of the input's payload follow.
struct Line {
  std::string_view header;
  std::size_t offset;
  std::size_t length;
};

class IpFragmentOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "ip_fragment";
      i.scenarios = {"network"};
      i.summary = "IP fragmentation, with the header checksums of every fragment";
      i.definition =
          "in: a datagram from its IP header on (IPv4 without options; IPv6 without hop-by-hop, routing or fragment header). "
          "aux: the "
          "4-byte identification of the IPv6 fragment header (IPv4 keeps the datagram's). out: its fragments in order, each at "
          "most "
          "`mtu` bytes from the IP header on and all but the last as full as that and the 8-byte unit allow, with valid IPv4 "
          "header "
          "checksums. variant=copy: out is, per packet, a u32 length and the packet. variant=zero_copy: out is, per packet, a "
          "12-byte descriptor (u32 payload offset in `in`, u32 payload length, u16 header length, u16 zero) and the headers. A "
          "datagram that fits already stays as it is. result: number of packets. One operation is one datagram. What is no such "
          "datagram, or is too long and must not be fragmented, is rejected.";
      i.parameters = {
          {"ip_version", "IP version of the datagram", {"4", "6"}, "4", true, "", 0, 0},
          {"variant",
           "payload copied behind each header, or left in place and named",
           {"copy", "zero_copy"},
           "copy",
           true,
           "",
           0,
           0},
          {"mtu", "longest packet, from the IP header on", {"576", "1280", "1500", "9000"}, "1500", false, "B", 576, 65535},
          {"size", "UDP payload bytes of the input", {"1024", "4096", "8192", "65000"}, "8192", false, "B", 1, kLongestPayload}};
      i.equivalence = Equivalence::kChecked;
      i.equivalence_text =
          "the fragments reassemble to the input, their offsets and flags are right, they fit the MTU, and every header checksum "
          "is "
          "valid";
      i.primary_metric = "mops";  // zero_copy reads headers only
      i.uses_result = true;
      i.metrics = {{"packets_per_operation", "1", "packets that an input becomes", true}};
      i.reference_engine = "portable";
      i.sources = {"RFC 791 section 3.2 and appendix A", "RFC 8200 section 4.5"};
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
    inputs::Random random = store.random("ip_fragment");
    inputs::TrafficModel model;
    model.version = v4 ? 4 : 6;
    model.udp_share = 1;
    const std::size_t headers = (v4 ? ip4::kHeader : ip6::kHeader) + kUdpHeader;
    model.sizes = {{static_cast<std::uint32_t>(headers + params.number("size")), 1.0}};
    const inputs::Traffic traffic = inputs::generate_traffic(model, size.items, random);
    for (const inputs::ModelPacket& packet : traffic.packets) {
      Item& item = work->items.emplace_back();
      item.in = inputs::make_packet(traffic.flows[packet.flow], packet.ip_length, random);
      if (!v4) {
        item.aux.resize(ip_fragment::kAuxBytes);
        random.fill(item.aux);
      }
      const ip_fragment::Layout l = ip_fragment::layout(v4, params.number("mtu"), item.in.data(), item.in.size());
      item.out_room = static_cast<std::uint32_t>(record_bytes(variant_of(params), l.packets, l.out, l.payload));
    }
    describe_generated(*work, store, "ip_fragment");
    work->input_name = "traffic model: " + std::to_string(model.flows) + " UDP flows over IPv" + params.text("ip_version") +
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
    const std::size_t mtu = work.params.number("mtu");
    if (input.size() <= mtu) {
      const bool same =
          packets.size() == 1 && std::equal(packets[0].bytes.begin(), packets[0].bytes.end(), input.begin(), input.end());
      return same ? std::string() : "a datagram that fits was changed";
    }
    const std::size_t ip = v4 ? ip4::kHeader : ip6::kHeader;
    const std::size_t headers = v4 ? ip : ip + ip6::kFragmentHeader;
    std::size_t at = ip;
    for (std::size_t k = 0; k < packets.size(); ++k) {
      const std::span<const std::byte> packet(packets[k].bytes);
      const bool last = k + 1 == packets.size();
      const auto wrong = [&](const std::string& what) { return "fragment " + std::to_string(k) + ": " + what; };
      if (packet.size() <= headers || packet.size() > mtu) return wrong(std::to_string(packet.size()) + " bytes");
      const auto payload = packet.subspan(headers);
      if (!last && (payload.size() % ip_fragment::kUnit != 0 || mtu - packet.size() >= ip_fragment::kUnit)) {
        return wrong(std::to_string(payload.size()) + " bytes of payload, which is no multiple of 8 or not as much as fits");
      }
      if (payload.size() > input.size() - at ||
          !std::equal(payload.begin(), payload.end(), input.begin() + static_cast<std::ptrdiff_t>(at))) {
        return wrong("its payload is not the input's from byte " + std::to_string(at - ip) + " on");
      }
      // The headers must be the input's, but for what has to change.
      std::vector<std::byte> should(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(ip));
      const auto offset = static_cast<std::uint32_t>(at - ip);
      if (v4) {
        put16(&should[ip4::kTotalLength], static_cast<std::uint32_t>(packet.size()));
        put16(&should[ip4::kFragment], (last ? 0U : ip4::kMoreFragments) + offset / 8);
        std::copy_n(packet.begin() + ip4::kChecksum, 2, &should[ip4::kChecksum]);
        if (plain_sum(0, packet.first(ip)) != 0xffff) return wrong("its header checksum is not valid");
      } else {
        put16(&should[ip6::kPayloadLength], static_cast<std::uint32_t>(packet.size() - ip));
        should.push_back(should[ip6::kNextHeader]);
        should[ip6::kNextHeader] = ip6::kFragmentProtocol;
        should.resize(headers);
        put16(&should[ip + 2], offset + (last ? 0U : 1U));
        std::copy_n(work.items[item].aux.begin(), ip_fragment::kAuxBytes, &should[ip + 4]);
      }
      const auto [a, b] = std::mismatch(should.begin(), should.end(), packet.begin());
      if (a != should.end()) return wrong("byte " + std::to_string(a - should.begin()) + " of its headers");
      at += payload.size();
    }
    if (at != input.size()) return "the payload ends after " + std::to_string(at - ip) + " bytes";
    return {};
  }

  [[nodiscard]] std::vector<double> metrics(const Work&, const WindowTotals& totals) const override {
    return {static_cast<double>(totals.result_sum) / static_cast<double>(std::max<std::uint64_t>(1, totals.operations))};
  }

  [[nodiscard]] std::optional<Remark> remark(const Work& work, const WindowTotals&) const override {
    const std::uint64_t mtu = work.params.number("mtu");
    if (!std::all_of(work.items.begin(), work.items.end(), [&](const Item& i) { return i.in.size() <= mtu; }))
      return std::nullopt;
    return Remark{"passthrough", "every datagram fits the MTU already and is not fragmented"};
  }
};

/// The example of RFC 791 and packets made by hand from its rules and those of RFC 8200; header checksums were computed by a
/// separate program. Payload byte i is 7 i + 3.
std::vector<KnownAnswer> IpFragmentOperator::known_answers(const Params& params) const {
  std::vector<KnownAnswer> answers;
  const auto add = [&](const char* name, std::uint64_t mtu, std::string_view header, std::size_t payload, std::string_view aux,
                       std::span<const Line> lines) {
    auto work = std::make_unique<Work>();
    work->params = params;
    work->params.set("mtu", mtu);
    Item& item = work->items.emplace_back();
    item.in = from_hex(header);
    item.aux = from_hex(aux);
    const std::size_t ip = item.in.size();
    for (std::size_t i = 0; i < payload; ++i) item.in.push_back(static_cast<std::byte>(7 * i + 3));
    std::vector<Expected> packets;
    for (const Line& line : lines) packets.push_back({from_hex(line.header), ip + line.offset, line.length});
    const std::vector<std::byte> out = encode(variant_of(params), item.in, packets);
    item.out_room = static_cast<std::uint32_t>(std::max<std::size_t>(1, out.size()));
    work->expected.push_back({out, packets.size(), packets.empty() ? kStatusRejected : kStatusOk});
    answers.push_back({name, std::move(work)});
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
