// toeplitz: the hash with which receive-side scaling spreads packets over cores.

#include <algorithm>

#include "inputs/digest.hpp"
#include "operators/support/messages.hpp"
#include "operators/toeplitz/toeplitz.hpp"

namespace dpubench {
namespace {

using inputs::Flow;
using toeplitz::Shape;
using toeplitz::ToeplitzWork;

/// The key of the verification suite. Most drivers also use it by default.
constexpr const char* kKey40 = "6d5a56da 255b0ec2 4167253d 43a38fb0 d0ca2bcb ae7b30b4 77cb2da3 8030f20c 6a42b73b beac01fa";
/// The default key of Intel's i40e driver; its words have the most significant byte first.
constexpr const char* kKey52 =
    "6b793944 23504cb5 5bea75b6 309f4f12 3dc0a2b8 024ddcdf 339b8ca0 4c4af64a 34fac605 55d85839 3a58997d 2ec938e1 66031581";

std::vector<std::uint8_t> key_of(std::string_view hex) {
  std::vector<std::uint8_t> key;
  for (const std::byte b : from_hex(hex)) key.push_back(std::to_integer<std::uint8_t>(b));
  return key;
}

/// Compute the hash bit by bit, as it is defined: for every set bit of the tuple, XOR the 32 bits of the key that begin at its
/// position.
std::uint32_t by_definition(std::span<const std::byte> tuple, std::span<const std::uint8_t> key) {
  const auto key_bit = [&](std::size_t i) { return key[i / 8] >> (7 - i % 8) & 1U; };
  std::uint32_t hash = 0;
  for (std::size_t bit = 0; bit < tuple.size() * 8; ++bit) {
    if ((std::to_integer<unsigned>(tuple[bit / 8]) >> (7 - bit % 8) & 1U) == 0) continue;
    std::uint32_t window = 0;
    for (std::size_t i = 0; i < 32; ++i) window = window << 1 | key_bit(bit + i);
    hash ^= window;
  }
  return hash;
}

/// A vector of "Verifying the RSS Hash Calculation", Windows network driver documentation. Addresses are hexadecimal.
struct Vector {
  const char* destination;
  std::uint16_t destination_port;
  const char* source;
  std::uint16_t source_port;
  std::uint32_t hash2;
  std::uint32_t hash4;
};
constexpr Vector kVectors4[] = {
    {"a18e6450", 1766, "420995bb", 2794, 0x323e8fc2, 0x51ccc178},    // 161.142.100.80, 66.9.149.187
    {"41458c53", 4739, "c75c6f02", 14230, 0xd718262a, 0xc626b0ea},   // 65.69.140.83, 199.92.111.2
    {"0c16cfb8", 38024, "1813c65f", 12898, 0xd2d0a5de, 0x5c2b394a},  // 12.22.207.184, 24.19.198.95
    {"d18ea306", 2217, "261bcd1e", 48228, 0x82989176, 0xafc7327f},   // 209.142.163.6, 38.27.205.30
    {"cabc7f02", 1303, "9927a3bf", 44251, 0x5d1809c5, 0x10e828a2},   // 202.188.127.2, 153.39.163.191
};
constexpr Vector kVectors6[] = {
    // 3ffe:2501:200:3::1, 3ffe:2501:200:1fff::7
    {"3ffe2501 02000003 00000000 00000001", 1766, "3ffe2501 02001fff 00000000 00000007", 2794, 0x2cc18cd5, 0x40207d3d},
    // ff02::1, 3ffe:501:8::260:97ff:fe40:efab
    {"ff020000 00000000 00000000 00000001", 4739, "3ffe0501 00080000 026097ff fe40efab", 14230, 0x0f0c461c, 0xdde51bbf},
    // fe80::200:f8ff:fe21:67cf, 3ffe:1900:4545:3:200:f8ff:fe21:67cf
    {"fe800000 00000000 0200f8ff fe2167cf", 38024, "3ffe1900 45450003 0200f8ff fe2167cf", 44251, 0x4b61e985, 0x02d1feef},
};

std::array<std::uint8_t, 16> address_of(const char* hex) {
  std::array<std::uint8_t, 16> address{};
  const std::vector<std::byte> bytes = from_hex(hex);
  std::transform(bytes.begin(), bytes.end(), address.begin(), [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return address;
}

class ToeplitzOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "toeplitz";
      i.scenarios = {"network"};
      i.summary = "Toeplitz hash of a packet's addresses and ports (receive-side scaling)";
      i.definition =
          "in: a TCP or UDP packet from its IP header on, of IMIX length, without IP options or extension headers. result: the "
          "32-bit hash of source address, destination address and, with tuple=4, source port and destination port, in network "
          "byte order. Reading the tuple from the packet is part of the operation. The 40-byte key is that of the RSS "
          "verification suite; the 52-byte key is the default key of Intel's i40e driver.";
      i.parameters = {
          {"ip_version", "version of the Internet Protocol", {"4", "6"}, "4", true, "", 0, 0},
          {"tuple", "2: addresses; 4: addresses and ports", {"2", "4"}, "4", true, "", 0, 0},
          {"key_bytes", "length of the hash key", {"40", "52"}, "40", false, "", 0, 0},
      };
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text =
          "the same 32-bit hash as the reference engine, which is itself checked bit by bit against the definition";
      i.primary_metric = "mops";
      i.uses_result = true;
      i.reference_engine = "portable";
      i.distinct_items = 65536;
      i.version = 2;  // since version 2, the footprint counts cache lines
      i.sources = {"Microsoft, Windows network driver documentation: RSS Hashing Functions, Verifying the RSS Hash Calculation",
                   "Krawczyk, LFSR-based Hashing and Authentication, CRYPTO '94"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<ToeplitzWork>();
    work->key = key_of(params.is("key_bytes", "52") ? kKey52 : kKey40);
    inputs::Random random = store.random("toeplitz");
    inputs::TrafficModel model;
    model.version = params.is("ip_version", "6") ? 6 : 4;
    inputs::Traffic traffic = generate_traffic(model, size.items, random);
    // The model's addresses share their first bytes, and the time of software hashes depends on the set bits. So all bytes are
    // drawn.
    const std::size_t address_bytes = model.version == 4 ? 4 : 16;
    for (Flow& flow : traffic.flows) {
      random.fill(std::as_writable_bytes(std::span(flow.source)).first(address_bytes));
      random.fill(std::as_writable_bytes(std::span(flow.destination)).first(address_bytes));
    }
    for (const inputs::ModelPacket& packet : traffic.packets) {
      work->items.push_back({make_packet(traffic.flows[packet.flow], packet.ip_length, random), {}, 0});
    }
    work->input_name = "traffic model: " + std::to_string(model.flows) + " flows of random addresses, Zipf 1.0, IMIX, seed " +
                       std::to_string(store.seed());
    const std::string material = params.text("ip_version") + '/' + work->input_name + '/' + std::to_string(size.items);
    work->input_hash = inputs::Sha256::hex(inputs::Sha256::of(std::as_bytes(std::span(material))));
    return work;
  }

  [[nodiscard]] Touched touched(const Params& params, const Item& item) const override {
    const Shape shape = toeplitz::shape_of(params);
    return {std::min<std::size_t>(item.in.size(), shape.offset + shape.bytes), 0, 0};
  }
  [[nodiscard]] std::span<const std::byte> key(const Params& params, const Item& item) const override {
    const Shape shape = toeplitz::shape_of(params);
    return std::span(item.in).subspan(shape.offset, shape.bytes);
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    auto work = std::make_unique<ToeplitzWork>();
    work->params = params;
    // The longest tuple reaches 36 + 4 bytes into the key, so the suite's hashes hold for any bytes behind these 40.
    work->key = key_of(kKey40);
    const std::vector<std::uint8_t> longer = key_of(kKey52);
    work->key.insert(work->key.end(), longer.begin(),
                     longer.begin() + static_cast<std::ptrdiff_t>(params.number("key_bytes") - 40));
    const bool v6 = params.is("ip_version", "6");
    inputs::Random random(1);
    for (const Vector& v : v6 ? std::span<const Vector>(kVectors6) : std::span<const Vector>(kVectors4)) {
      Flow flow;
      flow.version = v6 ? 6 : 4;
      flow.source = address_of(v.source);
      flow.destination = address_of(v.destination);
      flow.source_port = v.source_port;
      flow.destination_port = v.destination_port;
      work->items.push_back({make_packet(flow, 64, random), {}, 0});
      work->expected.push_back({{}, params.is("tuple", "4") ? v.hash4 : v.hash2, kStatusOk});
    }
    std::vector<KnownAnswer> answers;
    answers.push_back({"RSS verification suite, IPv" + params.text("ip_version"), std::move(work)});
    return answers;
  }

  [[nodiscard]] std::optional<Output> oracle(const Work& work, std::size_t item) const override {
    const Shape shape = toeplitz::shape_of(work.params);
    const std::span<const std::byte> packet(work.items[item].in);
    const std::uint32_t hash =
        by_definition(packet.subspan(shape.offset, shape.bytes), static_cast<const ToeplitzWork&>(work).key);
    return Output{{}, hash, kStatusOk};
  }
};

DPUBENCH_OPERATOR(ToeplitzOperator);

}  // namespace
}  // namespace dpubench
