// crc: the cyclic redundancy check of a message.

#include "operators/crc/algorithms.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

/// Compute the CRC bit by bit, as the Rocksoft model defines it. The function shares neither tables nor tricks with any engine.
std::uint32_t bitwise(const crc::Algorithm& a, std::span<const std::byte> message) {
  const std::uint32_t top = std::uint32_t{1} << (a.width - 1);
  const std::uint32_t mask = top | (top - 1);
  std::uint32_t value = a.initial;
  for (const std::byte b : message) {
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned bit = std::to_integer<unsigned>(b) >> (a.reflected ? i : 7 - i) & 1U;
      const bool divide = ((value & top) != 0) != (bit != 0);
      value = value << 1 & mask;
      if (divide) value ^= a.polynomial;
    }
  }
  if (a.reflected) {
    std::uint32_t mirrored = 0;
    for (unsigned i = 0; i < a.width; ++i) mirrored |= (value >> i & 1U) << (a.width - 1 - i);
    value = mirrored;
  }
  return value ^ a.xor_out;
}

class CrcOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "crc";
      i.scenarios = {"network"};
      i.summary = "CRC of a message, 16 or 32 bits";
      i.definition =
          "in: the message. result: its CRC, in the low bits, with the initial value, reflection and final inversion of the "
          "named "
          "algorithm. There is no out. One operation is one whole message.";
      Parameter algorithm{"algorithm", "name of the CRC in the RevEng catalogue", {}, "CRC-32/ISO-HDLC", true, "", 0, 0};
      for (const crc::Algorithm& a : crc::kAlgorithms) algorithm.values.emplace_back(a.name);
      i.parameters = {algorithm, size_parameter()};
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text = "the same CRC as the reference engine, which is itself compared with a bit-by-bit division";
      i.primary_metric = "gbps";
      i.uses_result = true;
      i.processes_all_bytes = true;
      i.reference_engine = "portable";
      i.sources = {"RevEng catalogue of parametrised CRC algorithms (Cook)", "IEEE 802.3 section 3.2.9", "RFC 3720 appendix B.4",
                   "RFC 1662 appendix C", "SBC-3 section 4.22.4"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<Work>();
    work->items = random_messages(store, "crc", size.items, params.number("size"), 0);
    describe_generated(*work, store, "crc");
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    const crc::Algorithm& a = crc::algorithm(params.text("algorithm"));
    std::vector<KnownAnswer> answers;
    const auto add = [&](const std::string& name, const std::vector<std::vector<std::byte>>& messages,
                         const std::vector<std::uint32_t>& values) {
      auto work = std::make_unique<Work>();
      work->params = params;
      for (const auto& message : messages) work->items.push_back({message, {}, 0});
      for (const std::uint32_t value : values) work->expected.push_back({{}, value, kStatusOk});
      answers.push_back({name, std::move(work)});
    };
    add("RevEng catalogue, check of " + std::string(a.name), {bytes_of("123456789")}, {a.check});
    if (a.name == "CRC-32/ISCSI") {
      // RFC 3720 B.4 lists the four bytes in the order of transmission, least significant first.
      std::vector<std::byte> up;
      std::vector<std::byte> down;
      for (unsigned i = 0; i < 32; ++i) {
        up.push_back(static_cast<std::byte>(i));
        down.push_back(static_cast<std::byte>(31 - i));
      }
      add("RFC 3720 B.4",
          {std::vector<std::byte>(32), std::vector<std::byte>(32, std::byte{0xff}), up, down,
           from_hex(
               "01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018 28000000 00000000 02000000 00000000")},
          {0x8a9136aa, 0x62a8ab43, 0x46dd794e, 0x113fdb5c, 0xd9963a56});
    }
    return answers;
  }

  [[nodiscard]] std::optional<Output> oracle(const Work& work, std::size_t item) const override {
    return Output{{}, bitwise(crc::algorithm(work.params.text("algorithm")), work.items[item].in), kStatusOk};
  }
};

DPUBENCH_OPERATOR(CrcOperator);

}  // namespace
}  // namespace dpubench
