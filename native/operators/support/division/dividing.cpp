#include "operators/support/division/dividing.hpp"

#include <algorithm>

#include "inputs/traffic.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"
#include "packet/checksum_oracle.hpp"

namespace dpubench {

using namespace segments;

namespace {

constexpr std::uint64_t kLeastMtu6 = 1280;  // RFC 8200 section 5

bool is_v4(const Params& params) {
  return params.is("ip_version", "4");
}

std::size_t ip_header(bool v4) {
  return v4 ? ip4::kHeader : ip6::kHeader;
}

}  // namespace

OperatorInfo DividingOperator::common_info(std::string name, std::vector<std::string> sizes, std::string default_size) const {
  OperatorInfo i;
  i.name = std::move(name);
  i.scenarios = {"network"};
  i.parameters = {
      {"ip_version", "IP version of the " + protocol_.input, {"4", "6"}, "4", true, "", 0, 0},
      {"variant",
       "copy: records with the payload behind each header; zero_copy: records that point to it; mbuf: chains of DPDK mbufs",
       {"copy", "zero_copy", "mbuf"},
       "copy",
       true,
       "",
       0,
       0},
      {"mtu", "longest packet, from the IP header on", {"576", "1280", "1500", "9000"}, "1500", false, "B", 576, 65535},
      {"size", protocol_.name + " payload bytes of the input", std::move(sizes), std::move(default_size), false, "B", 1,
       longest_payload(protocol_.header)}};
  i.equivalence = Equivalence::kChecked;
  i.uses_result = true;
  i.processes_all_bytes = true;
  i.metrics = {{"packets_per_operation", "1", "packets per input", true}};
  i.reference_engine = "portable";
  i.distinct_items = 64;
  i.version = 2;  // version 1 timed how engine dpdk wrote records; it writes none now
  return i;
}

std::string DividingOperator::invalid(const Params& params) const {
  if (!is_v4(params) && params.number("mtu") < kLeastMtu6) return "IPv6 needs an MTU of at least 1280 bytes (RFC 8200)";
  return {};
}

std::unique_ptr<Work> DividingOperator::prepare(const Params& params, inputs::Store& store, WorkSize size) const {
  auto work = std::make_unique<Work>();
  const bool v4 = is_v4(params);
  inputs::Random random = store.random(info().name);
  inputs::TrafficModel model;
  model.version = v4 ? 4 : 6;
  model.udp_share = protocol_.udp_share;
  model.sizes = {{static_cast<std::uint32_t>(ip_header(v4) + protocol_.header + params.number("size")), 1.0}};
  const inputs::Traffic traffic = inputs::generate_traffic(model, size.items, random);
  for (const inputs::ModelPacket& packet : traffic.packets) {
    Item& item = work->items.emplace_back();
    item.in = inputs::make_packet(traffic.flows[packet.flow], packet.ip_length, random);
    finish(item, v4, random);
    item.out_room = static_cast<std::uint32_t>(record_bytes(variant_of(params), layout(v4, params.number("mtu"), item.in)));
  }
  describe_generated(*work, store, info().name);
  work->input_name = "traffic model: " + std::to_string(model.flows) + " " + protocol_.name + " flows over IPv" +
                     params.text("ip_version") + ", Zipf, seed " + std::to_string(store.seed());
  return work;
}

std::string DividingOperator::check(const Work& work, std::size_t item, const Output& got, const Output* want) const {
  if (want != nullptr) return Operator::check(work, item, got, want);
  if (got.status != kStatusOk) return "status " + std::to_string(got.status);
  const std::span<const std::byte> input(work.items[item].in);
  std::vector<Packet> packets;
  if (std::string wrong = parse(variant_of(work.params), input, got.bytes, packets); !wrong.empty()) return wrong;
  if (packets.size() != got.result)
    return "result " + std::to_string(got.result) + " for " + std::to_string(packets.size()) + " packets";
  const bool v4 = is_v4(work.params);
  const std::size_t mtu = work.params.number("mtu");
  const Layout parts = layout(v4, mtu, input);
  if (parts.packets == 0) return "the engine accepted an input that cannot be divided";
  const std::size_t before = input.size() - parts.payload;  // the input's headers
  std::size_t at = before;
  for (std::size_t k = 0; k < packets.size(); ++k) {
    const std::span<const std::byte> packet(packets[k].bytes);
    const auto wrong = [&](const std::string& what) { return protocol_.output + ' ' + std::to_string(k) + ": " + what; };
    if (packet.size() < parts.headers || packet.size() > mtu)
      return wrong(std::to_string(packet.size()) + " bytes: less than its headers, or more than the MTU");
    const Piece piece{work.items[item],
                      v4,
                      mtu,
                      parts.ip,
                      parts.headers,
                      packet,
                      k,
                      k + 1 == packets.size(),
                      static_cast<std::uint32_t>(at - before)};
    if (const std::string misfits = misfit(piece); !misfits.empty()) return wrong(misfits);
    const auto payload = packet.subspan(parts.headers);
    if (payload.size() > input.size() - at ||
        !std::equal(payload.begin(), payload.end(), input.begin() + static_cast<std::ptrdiff_t>(at))) {
      return wrong("its payload differs from the input's from byte " + std::to_string(at - before) + " on");
    }
    // The headers must be the input's, except for the fields that have to change.
    std::vector<std::byte> should(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(before));
    if (v4) {
      put16(&should[ip4::kTotalLength], static_cast<std::uint32_t>(packet.size()));
      std::copy_n(packet.begin() + ip4::kChecksum, 2, &should[ip4::kChecksum]);
      if (checksum::plain_sum(0, packet.first(parts.ip)) != 0xffff) return wrong("its IPv4 header checksum is not valid");
    } else {
      put16(&should[ip6::kPayloadLength], static_cast<std::uint32_t>(packet.size() - parts.ip));
    }
    expect(piece, should);
    const auto [a, b] = std::mismatch(should.begin(), should.end(), packet.begin());
    if (a != should.end()) return wrong("byte " + std::to_string(a - should.begin()) + " of its headers is wrong");
    if (const std::string flawed = flaw(piece); !flawed.empty()) return wrong(flawed);
    at += payload.size();
  }
  if (at != input.size()) return "the payload ends after " + std::to_string(at - before) + " bytes";
  return {};
}

std::vector<double> DividingOperator::metrics(const Work&, const WindowTotals& totals) const {
  return {static_cast<double>(totals.result_sum) / static_cast<double>(std::max<std::uint64_t>(1, totals.operations))};
}

std::optional<Operator::Remark> DividingOperator::remark(const Work& work, const WindowTotals&) const {
  const std::uint64_t mtu = work.params.number("mtu");
  const auto fits = [mtu](const Item& item) { return item.in.size() <= mtu; };
  if (!std::all_of(work.items.begin(), work.items.end(), fits)) return std::nullopt;
  return Remark{"passthrough", protocol_.passthrough};
}

/// Bytes of the cache lines of a chain: the structure and headers of its first mbuf, and the structure of the mbuf that names the
/// payload.
constexpr std::size_t kChainBytes = 5 * 64;

Operator::Touched DividingOperator::touched(const Params& params, const Item& item) const {
  const Layout parts = layout(is_v4(params), params.number("mtu"), item.in);
  const std::size_t read = reads_payload(params) ? item.in.size() : item.in.size() - parts.payload;
  return {read, item.aux.size(), ends_in_mbufs(params) ? parts.packets * kChainBytes : item.out_room};
}

KnownAnswer DividingOperator::known_answer(const Params& params, std::string name, std::uint64_t mtu, std::string_view headers,
                                           std::size_t payload, std::string_view aux, std::span<const Line> lines) {
  auto work = std::make_unique<Work>();
  work->params = params;
  work->params.set("mtu", mtu);
  Item& item = work->items.emplace_back();
  item.in = from_hex(headers);
  item.aux = from_hex(aux);
  const std::size_t before = item.in.size();
  for (std::size_t i = 0; i < payload; ++i) item.in.push_back(static_cast<std::byte>(7 * i + 3));
  std::vector<Expected> packets;
  for (const Line& line : lines) packets.push_back({from_hex(line.header), before + line.offset, line.length});
  const std::vector<std::byte> out = encode(variant_of(params), item.in, packets);
  item.out_room = static_cast<std::uint32_t>(std::max<std::size_t>(1, out.size()));
  work->expected.push_back({out, packets.size(), packets.empty() ? kStatusRejected : kStatusOk});
  return {std::move(name), std::move(work)};
}

}  // namespace dpubench
