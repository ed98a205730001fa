// checksum: the Internet checksum of a message (RFC 1071), and its update when an address translator rewrites a header (RFC
// 1624).

#include <algorithm>

#include "inputs/traffic.hpp"
#include "operators/checksum/packet.hpp"
#include "operators/lane.hpp"
#include "operators/support/division/segments.hpp"
#include "operators/support/messages.hpp"
#include "packet/checksum_oracle.hpp"

namespace dpubench {
namespace {

using checksum::plain_sum;

constexpr std::uint64_t kLongestPacket = 65535;  // RFC 791: total length

class ChecksumOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "checksum";
      i.scenarios = {"network", "storage"};
      i.summary = "Internet checksum of a message, and its incremental update";
      i.definition =
          "full: in: the message; result: its 16-bit checksum as a number (the first byte in the packet is the high one); an odd "
          "last byte is padded with a zero byte. incremental: in: a TCP/IPv4 packet of `size` bytes without IP options; aux: a "
          "new source address (4 bytes) and source port (2 bytes, then 2 zero bytes), as a NAT sets them; result: the updated "
          "IPv4 header checksum << 16 | the updated TCP checksum, computed by RFC 1624 equation 3 from the old checksums, the "
          "old fields and the new fields. The packet is not written. There is no out. One operation is one message or packet.";
      i.parameters = {{"mode",
                       "full: over the whole message; incremental: updated for a new address and port",
                       {"full", "incremental"},
                       "full",
                       true,
                       "",
                       0,
                       0},
                      size_parameter()};
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text =
          "the same checksums as the reference engine, whose checksums are compared with sums over every byte (incremental: of "
          "the rewritten packet)";
      i.primary_metric = "mops";  // incremental reads 18 bytes of a packet, whatever its size
      i.uses_result = true;
      i.processes_all_bytes = true;
      i.reference_engine = "portable";
      i.version = 2;  // since version 2, the footprint of an update counts cache lines
      i.sources = {"RFC 1071", "RFC 1624", "RFC 3022 section 4.1"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    if (!params.is("mode", "incremental")) return {};
    const std::uint64_t size = params.number("size");
    if (size >= checksum::kHeaders && size <= kLongestPacket) return {};
    return "mode=incremental works on TCP/IPv4 packets of " + std::to_string(checksum::kHeaders) + " to " +
           std::to_string(kLongestPacket) + " bytes, not " + std::to_string(size);
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<Work>();
    const std::uint64_t bytes = params.number("size");
    if (params.is("mode", "full")) {
      work->items = random_messages(store, "checksum", size.items, bytes, 0);
      describe_generated(*work, store, "checksum");
      return work;
    }
    inputs::Random random = store.random("checksum/incremental");
    inputs::TrafficModel model;
    model.udp_share = 0;
    model.sizes = {{static_cast<std::uint32_t>(bytes), 1.0}};
    const inputs::Traffic traffic = inputs::generate_traffic(model, size.items, random);
    for (const inputs::ModelPacket& packet : traffic.packets) {
      Item& item = work->items.emplace_back();
      item.in = inputs::make_packet(traffic.flows[packet.flow], packet.ip_length, random);
      item.aux.resize(checksum::kAuxBytes);
      random.fill(std::span(item.aux).first(checksum::kNewPort + 2));
    }
    describe_generated(*work, store, "checksum/incremental");
    work->input_name = "traffic model: " + std::to_string(model.flows) + " TCP flows, Zipf, seed " + std::to_string(store.seed());
    return work;
  }

  [[nodiscard]] std::uint64_t rate_bytes(const Work& work, const WindowTotals& totals) const override {
    return work.params.is("mode", "full") ? totals.in_bytes : 0;
  }

  /// An update reads only the headers, whatever follows them.
  [[nodiscard]] Touched touched(const Params& params, const Item& item) const override {
    const bool full = params.is("mode", "full");
    return {full ? item.in.size() : std::min<std::size_t>(item.in.size(), checksum::kHeaders), item.aux.size(), 0};
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<KnownAnswer> answers;
    auto work = std::make_unique<Work>();
    work->params = params;
    const auto add = [&](std::string_view in, std::string_view aux, std::uint64_t result) {
      work->items.push_back({from_hex(in), from_hex(aux), 0});
      work->expected.push_back({{}, result, kStatusOk});
    };
    if (params.is("mode", "full")) {
      add("0001 f203 f4f5 f6f7", "", 0x220d);  // the RFC gives the sum, ddf2; the checksum is its complement
      add("0001 f203 f4f5 f6", "", 0x2304);    // f600 in place of f6f7: 2dcf9 -> dcfb
      add("0001 f203 f4f5 f600", "", 0x2304);  // section 1: the padding zero changes nothing
      answers.push_back({"RFC 1071 section 3", std::move(work)});
    } else {
      // RFC 1624 section 4: HC = dd2f, m = 5555, m' = 3285, HC' = 0000 (equation 2 of RFC 1141 would give ffff). The changed word
      // is the high half of the source address, so both checksums change in the same way.
      add("4500 0028 0000 0000 4006 dd2f 5555 0001 c633 6401 0457 0050 00000000 00000000 5010 ffff dd2f 0000",
          "3285 0001 0457 0000", 0x00000000);
      answers.push_back({"RFC 1624 section 4", std::move(work)});
    }
    return answers;
  }

  [[nodiscard]] std::optional<Output> oracle(const Work& work, std::size_t item) const override {
    const Item& given = work.items[item];
    if (work.params.is("mode", "full")) return Output{{}, ~plain_sum(0, given.in) & 0xffffU, kStatusOk};
    std::vector<std::byte> packet = given.in;
    const auto put = [&](std::size_t to, std::size_t from, std::size_t bytes) {
      std::copy_n(given.aux.begin() + static_cast<std::ptrdiff_t>(from), bytes, packet.begin() + static_cast<std::ptrdiff_t>(to));
    };
    put(checksum::kSource, checksum::kNewSource, 4);
    put(checksum::kPort, checksum::kNewPort, 2);
    std::fill_n(packet.begin() + checksum::kIpChecksum, 2, std::byte{0});
    std::fill_n(packet.begin() + checksum::kTcpChecksum, 2, std::byte{0});
    const std::span<const std::byte> all(packet);
    const auto tcp_length = static_cast<std::uint32_t>(packet.size() - checksum::kTransport);
    const std::uint32_t ip = ~plain_sum(0, all.first(checksum::kTransport)) & 0xffffU;
    const std::uint32_t pseudo = plain_sum(packet::protocol::kTcp + tcp_length, all.subspan(checksum::kSource, 8));
    const std::uint32_t tcp = ~plain_sum(pseudo, all.subspan(checksum::kTransport)) & 0xffffU;
    return Output{{}, std::uint64_t{ip} << 16 | tcp, kStatusOk};
  }
};

DPUBENCH_OPERATOR(ChecksumOperator);

}  // namespace
}  // namespace dpubench
