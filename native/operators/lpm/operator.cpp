// lpm: longest-prefix match of packets' destinations in a routing table.

#include "operators/lpm/lpm.hpp"

#include <numeric>

#include "inputs/digest.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

using inputs::Flow;
using inputs::Prefix4;
using inputs::Prefix6;
using lpm::kNoRoute;
using lpm::LpmWork;

constexpr std::uint32_t kFlows = 100'000;

/// Return a random subset of `wanted` prefixes, in the table's order, with their next hops numbered anew.
/// @param wanted  0: all of them @throws Error when the table has fewer
template <class Prefix>
std::vector<Prefix> choose(const std::vector<Prefix>& all, std::uint64_t wanted, inputs::Random& random,
                           std::uint32_t& next_hops) {
  if (wanted > all.size()) {
    throw Error("prefixes is " + std::to_string(wanted) + ", but the routing table has " + std::to_string(all.size()) +
                ": give fewer (0 for all of them), or a larger table");
  }
  std::vector<Prefix> chosen;
  std::uint64_t missing = wanted == 0 ? all.size() : wanted;
  for (std::size_t i = 0; i < all.size() && missing > 0; ++i) {
    if (random.below(all.size() - i) >= missing) continue;  // selection sampling (Knuth, TAOCP volume 2, 3.4.2 algorithm S)
    chosen.push_back(all[i]);
    --missing;
  }
  std::vector<std::uint32_t> numbers;
  for (Prefix& p : chosen) {
    if (p.next_hop >= numbers.size()) numbers.resize(p.next_hop + std::size_t{1}, kNoRoute);
    if (numbers[p.next_hop] == kNoRoute) numbers[p.next_hop] = next_hops++;
    p.next_hop = numbers[p.next_hop];
  }
  return chosen;
}

/// Return an address that a prefix covers, in network byte order, with random host bits.
template <class Prefix>
std::array<std::uint8_t, 16> address_in(const Prefix& prefix, inputs::Random& random) {
  const auto network = lpm::bytes_of(prefix);
  std::array<std::uint8_t, 16> address{};
  random.fill(std::as_writable_bytes(std::span(address)).first(network.size()));
  for (std::size_t i = 0; i < network.size(); ++i) {
    const unsigned covered = static_cast<unsigned>(std::clamp<int>(prefix.length - static_cast<int>(i * 8), 0, 8));
    const auto host_bits = static_cast<std::uint8_t>(0xffU >> covered);
    address[i] = static_cast<std::uint8_t>(network[i] | (address[i] & host_bits));
  }
  return address;
}

bool covers(const Prefix4& p, std::uint32_t address) {
  return p.length == 0 || (address ^ p.address) >> (32 - p.length) == 0;
}
bool covers(const Prefix6& p, const std::uint8_t* address) {
  const std::size_t whole = p.length / 8U;
  if (std::memcmp(p.address.data(), address, whole) != 0) return false;
  return p.length % 8 == 0 || (p.address[whole] ^ address[whole]) >> (8 - p.length % 8) == 0;
}

template <class Prefix, class Address>
std::uint32_t longest_match(const std::vector<Prefix>& routes, Address address) {
  const Prefix* best = nullptr;
  for (const Prefix& p : routes) {
    if (covers(p, address) && (best == nullptr || p.length > best->length)) best = &p;
  }
  return best == nullptr ? kNoRoute : best->next_hop;
}

/// Add items whose destinations follow the table: one drawn prefix per packet (uniform), or per flow of a Zipf model.
template <class Prefix>
void add_model_items(LpmWork& work, const std::vector<Prefix>& routes, std::size_t count, inputs::Random& random) {
  const bool zipf = work.params.is("stream", "zipf");
  inputs::TrafficModel model;
  model.version = work.v6() ? 6 : 4;
  model.flows = kFlows;
  model.popularity = zipf ? inputs::Popularity::kZipf : inputs::Popularity::kUniform;
  inputs::Traffic traffic = generate_traffic(model, count, random);
  for (Flow& flow : traffic.flows) flow.destination = address_in(routes[random.below(routes.size())], random);
  for (const inputs::ModelPacket& packet : traffic.packets) {
    Flow flow = traffic.flows[packet.flow];
    if (!zipf) flow.destination = address_in(routes[random.below(routes.size())], random);
    work.items.push_back({make_packet(flow, packet.ip_length, random), {}, 0});
  }
}

void add_capture_items(LpmWork& work, const inputs::Capture& capture, std::size_t count) {
  const std::size_t header = work.v6() ? 40 : 20;
  for (const inputs::Packet& packet : capture.packets) {
    if (work.items.size() == count) break;
    if (packet.version != (work.v6() ? 6 : 4) || packet.length < header) continue;
    const auto bytes = capture.ip(packet);
    work.items.push_back({{bytes.begin(), bytes.end()}, {}, 0});
  }
  if (work.items.empty()) {
    throw Error("the capture holds no IPv" + work.params.text("ip_version") +
                " packet: give another one, or measure stream=zipf");
  }
}

/// Routes and queries of a table made by hand; addresses are hexadecimal.
struct Route {
  const char* address;
  std::uint8_t length;
  std::uint32_t next_hop;
};
struct Query {
  const char* destination;
  std::uint32_t next_hop;
};

constexpr Route kRoutes4[] = {
    {"0a000000", 8, 1},       // 10.0.0.0/8; ever longer prefixes lie inside it
    {"0a010000", 16, 2},      // 10.1.0.0/16
    {"0a010200", 23, 3},      // 10.1.2.0/23
    {"0a010200", 24, 4},      // 10.1.2.0/24
    {"0a010280", 25, 5},      // 10.1.2.128/25
    {"0a0102c8", 32, 6},      // 10.1.2.200/32
    {"c0000201", 32, 7},      // 192.0.2.1/32: no prefix around it
    {"c6336400", 24, 70000},  // 198.51.100.0/24: a next hop that 16 bits cannot hold
    {"cb007100", 31, 9},      // 203.0.113.0/31
    {"ffffffff", 32, 10},     // the last address
    {"00000000", 32, 11},     // the first address
    {"e0000000", 3, 12},      // 224.0.0.0/3
    {"e0000000", 4, 0},       // 224.0.0.0/4
};
constexpr Query kQueries4[] = {
    {"0a000000", 1},        {"0affffff", 1},        {"0a010000", 2},        {"0a01ffff", 2},        {"0a010200", 4},
    {"0a01027f", 4},        {"0a010280", 5},        {"0a0102c7", 5},        {"0a0102c8", 6},        {"0a0102c9", 5},
    {"0a010300", 3},        {"0a0103ff", 3},        {"0a010400", 2},        {"c0000201", 7},        {"c0000200", kNoRoute},
    {"c0000202", kNoRoute}, {"c6336401", 70000},    {"cb007101", 9},        {"cb007102", kNoRoute}, {"ffffffff", 10},
    {"fffffffe", 12},       {"00000000", 11},       {"00000001", kNoRoute}, {"e0000001", 0},        {"efffffff", 0},
    {"f0000000", 12},       {"09ffffff", kNoRoute}, {"0b000000", kNoRoute}, {"80000000", kNoRoute},
};
constexpr Route kRoutes6[] = {
    {"20010db8000000000000000000000000", 32, 1},      // 2001:db8::/32; ever longer prefixes lie inside it
    {"20010db8000100000000000000000000", 48, 2},      // 2001:db8:1::/48
    {"20010db8000100020000000000000000", 63, 3},      // 2001:db8:1:2::/63
    {"20010db8000100020000000000000000", 64, 4},      // 2001:db8:1:2::/64
    {"20010db8000100020000000000000001", 128, 5},     // a host
    {"20010db8000100028000000000000000", 65, 6},      // 2001:db8:1:2:8000::/65
    {"20000000000000000000000000000000", 3, 7},       // 2000::/3
    {"20010000000000000000000000000000", 23, 8},      // 2001::/23
    {"fe800000000000000000000000000000", 10, 70000},  // a next hop that 16 bits cannot hold
    {"00000000000000000000000000000001", 128, 10},    // ::1
    {"ffffffffffffffffffffffffffffffff", 128, 0},     // the last address
    {"20010db8ffff0000000000000000fffe", 127, 11},    // two hosts
};
constexpr Query kQueries6[] = {
    {"20010db8000000000000000000000000", 1},        {"20010db8ffffffffffffffffffffffff", 1},
    {"20010db8000100000000000000000001", 2},        {"20010db8000100030000000000000001", 3},
    {"20010db8000100020000000000000000", 4},        {"20010db8000100020000000000000001", 5},
    {"20010db8000100020000000000000002", 4},        {"20010db8000100028000000000000001", 6},
    {"20010db800010002ffffffffffffffff", 6},        {"20010db8000100040000000000000000", 2},
    {"2a000000000000000000000000000001", 7},        {"3fffffffffffffffffffffffffffffff", 7},
    {"20010100000000000000000000000000", 8},        {"20010200000000000000000000000000", 7},
    {"fe800000000000000000000000000001", 70000},    {"febfffffffffffffffffffffffffffff", 70000},
    {"fec00000000000000000000000000000", kNoRoute}, {"00000000000000000000000000000001", 10},
    {"00000000000000000000000000000000", kNoRoute}, {"00000000000000000000000000000002", kNoRoute},
    {"ffffffffffffffffffffffffffffffff", 0},        {"fffffffffffffffffffffffffffffffe", kNoRoute},
    {"20010db8ffff0000000000000000ffff", 11},       {"20010db8ffff0000000000000000fffd", 1},
    {"40000000000000000000000000000000", kNoRoute},
};

std::array<std::uint8_t, 16> address_of(const char* hex) {
  std::array<std::uint8_t, 16> address{};
  const std::vector<std::byte> bytes = from_hex(hex);
  std::memcpy(address.data(), bytes.data(), bytes.size());
  return address;
}

class LpmOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "lpm";
      i.scenarios = {"network"};
      i.summary = "route of a packet's destination: longest matching prefix";
      i.definition =
          "in: an IP packet from its IP header on. result: the next hop, a dense index, of the longest prefix that covers its "
          "destination, or 0xFFFFFFFF if no prefix does. Reading the destination from the packet is part of the operation. "
          "stream=uniform: each packet goes to a newly drawn prefix. stream=zipf: the packets belong to 100,000 flows of Zipf "
          "popularity (exponent 1), and each flow goes to a drawn prefix. Both have IMIX lengths and random host bits. "
          "stream=capture: the packets of the capture as recorded. lookup=single: one call per packet; lookup=bulk: one call per "
          "burst. The table is built beforehand; its build time and memory are reported.";
      i.parameters = {
          {"ip_version", "version of the Internet Protocol", {"4", "6"}, "4", true, "", 0, 0},
          {"lookup", "single: one library call per packet; bulk: one per burst", {"single", "bulk"}, "bulk", true, "", 0, 0},
          {"stream", "order of the destinations", {"uniform", "zipf", "capture"}, "zipf", false, "", 0, 0},
          {"prefixes", "prefixes in the table, drawn from the input; 0: all of them", {"0"}, "0", false, "1", 0, 1U << 24},
          {"fill",
           "fast: leaves out engines whose table takes minutes to fill; any: includes them",
           {"fast", "any"},
           "fast",
           false,
           "",
           0,
           0},
      };
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text = "the same next hop as the reference engine, which is itself checked against every prefix of the table";
      i.primary_metric = "mops";
      i.uses_result = true;
      i.inputs = {{"routes4", {"ip_version", "4"}}, {"routes6", {"ip_version", "6"}}, {"capture", {"stream", "capture"}}};
      i.reference_engine = "portable";
      i.distinct_items = 131072;
      i.keyed = true;
      i.version = 2;  // since version 2, the footprint counts cache lines, and there are more destinations
      i.sources = {"RFC 4632 section 5.1",
                   "Gupta, Lin, McKeown, Routing Lookups in Hardware at Memory Access Speeds, INFOCOM 1998",
                   "DPUBench (2023), network operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<LpmWork>();
    work->params = params;
    inputs::Random random = store.random("lpm");
    const std::uint64_t wanted = params.number("prefixes");
    if (work->v6()) {
      work->routes6 = choose(store.routes6().prefixes, wanted, random, work->next_hops);
    } else {
      work->routes4 = choose(store.routes4().prefixes, wanted, random, work->next_hops);
    }
    const auto routes = store.identity(work->v6() ? "routes6" : "routes4");
    work->input_name =
        routes.name + " (" + std::to_string(work->v6() ? work->routes6.size() : work->routes4.size()) + " prefixes)";
    std::string material = routes.sha256;
    if (params.is("stream", "capture")) {
      add_capture_items(*work, store.capture(), size.items);
      const auto capture = store.identity("capture");
      work->input_name += ", packets of " + capture.name;
      material += '/' + capture.sha256;
    } else {
      work->v6() ? add_model_items(*work, work->routes6, size.items, random)
                 : add_model_items(*work, work->routes4, size.items, random);
      work->input_name += ", stream " + params.text("stream") + ", seed " + std::to_string(store.seed());
    }
    material += '/' + work->input_name + '/' + std::to_string(size.items);
    work->input_hash = inputs::Sha256::hex(inputs::Sha256::of(std::as_bytes(std::span(material))));
    return work;
  }

  [[nodiscard]] Touched touched(const Params& params, const Item& item) const override {
    return {std::min(item.in.size(), lpm::header_bytes(params)), 0, 0};
  }
  [[nodiscard]] std::span<const std::byte> key(const Params& params, const Item& item) const override {
    const std::size_t bytes = params.is("ip_version", "6") ? 16 : 4;
    return std::span(item.in).subspan(lpm::header_bytes(params) - bytes, bytes);
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    const std::string version = "IPv" + params.text("ip_version");
    std::vector<KnownAnswer> answers;
    answers.push_back({version + " table of overlapping prefixes", made_by_hand(params, false)});
    answers.push_back({version + " table of overlapping prefixes with a default route", made_by_hand(params, true)});
    return answers;
  }

  [[nodiscard]] std::optional<Output> oracle(const Work& work, std::size_t item) const override {
    const LpmWork& table = lpm::table_of(work);
    const std::byte* packet = work.items[item].in.data();
    const std::uint32_t next_hop = table.v6() ? longest_match(table.routes6, lpm::destination6(packet))
                                              : longest_match(table.routes4, lpm::destination4(packet));
    return Output{{}, next_hop, kStatusOk};
  }

 private:
  static std::unique_ptr<Work> made_by_hand(const Params& params, bool with_default) {
    constexpr std::uint32_t kDefault = 13;
    auto work = std::make_unique<LpmWork>();
    work->params = params;
    const bool v6 = work->v6();
    for (const Route& r : v6 ? std::span<const Route>(kRoutes6) : std::span<const Route>(kRoutes4)) {
      const auto address = address_of(r.address);
      if (v6) {
        work->routes6.push_back({address, r.length, r.next_hop});
      } else {
        work->routes4.push_back({static_cast<std::uint32_t>(std::stoul(r.address, nullptr, 16)), r.length, r.next_hop});
      }
      work->next_hops = std::max(work->next_hops, r.next_hop + 1);
    }
    if (with_default && v6) work->routes6.push_back({{}, 0, kDefault});
    if (with_default && !v6) work->routes4.push_back({0, 0, kDefault});
    inputs::Random random(1);
    for (const Query& q : v6 ? std::span<const Query>(kQueries6) : std::span<const Query>(kQueries4)) {
      Flow flow;
      flow.version = v6 ? 6 : 4;
      flow.destination = address_of(q.destination);
      work->items.push_back({make_packet(flow, 64, random), {}, 0});
      work->expected.push_back({{}, q.next_hop == kNoRoute && with_default ? kDefault : q.next_hop, kStatusOk});
    }
    return work;
  }
};

DPUBENCH_OPERATOR(LpmOperator);

}  // namespace
}  // namespace dpubench
