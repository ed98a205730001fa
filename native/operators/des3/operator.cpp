// des3: triple DES (SP 800-67) in CBC, the cipher of the IPsec gateways of 1999.

#include <bit>

#include "operators/des3/vectors.hpp"
#include "operators/des3/work.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench::des3 {
namespace {

std::unique_ptr<Des3Work> make_work(const Params& params) {
  auto work = std::make_unique<Des3Work>();
  work->params = params;
  work->encrypt = params.is("direction", "encrypt");
  return work;
}

class Des3Operator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "des3";
      i.scenarios = {"security"};
      i.summary = "triple DES (EDE, three keys, CBC) encryption and decryption of a message";
      i.definition =
          "in: the message, in whole blocks of 8 bytes. aux: its 8-byte IV. out: the converted message, as long as in. A work "
          "has one bundle of three keys, and its expansion is not timed. One operation is one message with its own IV.";
      i.parameters = {{"direction", "encrypt or decrypt", {"encrypt", "decrypt"}, "encrypt", true, "", 0, 0}, size_parameter(8)};
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text = "the same bytes as the reference engine";
      i.primary_metric = "gbps";
      i.processes_all_bytes = true;
      i.reference_engine = "openssl";
      i.sources = {"NIST SP 800-67", "SP 800-38A (CBC)", "RFC 2451", "Crowley et al. (1999), the VPN workload"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    const std::uint64_t size = params.number("size");
    if (size % kBlockBytes == 0) return {};
    return "CBC takes whole blocks of 8 bytes (the protocol does the padding): give size=" +
           std::to_string(size / kBlockBytes * kBlockBytes + kBlockBytes) + " instead of " + std::to_string(size);
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize count) const override {
    auto work = make_work(params);
    const std::size_t size = params.number("size");
    inputs::Random random = store.random("des3-key");
    work->key.resize(kKeyBytes);
    random.fill(work->key);
    // The last bit of each byte makes its parity odd (SP 800-67 section 3.1). No cipher reads it, but a key check may.
    for (std::byte& b : work->key) {
      b &= std::byte{0xfe};
      if (std::popcount(std::to_integer<unsigned>(b)) % 2 == 0) b |= std::byte{1};
    }
    work->items = random_messages(store, "des3", count.items, size, static_cast<std::uint32_t>(size));
    for (Item& item : work->items) {
      item.aux.resize(kBlockBytes);
      random.fill(item.aux);
    }
    describe_generated(*work, store, "des3");
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<KnownAnswer> answers;
    for (const Vector& vector : vectors()) {
      auto work = make_work(params);
      work->key = from_hex(vector.key);
      Item item;
      Output output;
      item.in = from_hex(vector.plain);
      item.aux = from_hex(vector.iv);
      output.bytes = from_hex(vector.cipher);
      if (!work->encrypt) std::swap(item.in, output.bytes);
      item.out_room = static_cast<std::uint32_t>(output.bytes.size());
      work->items.push_back(std::move(item));
      work->expected.push_back(std::move(output));
      answers.push_back({std::string(vector.name), std::move(work)});
    }
    return answers;
  }
};

DPUBENCH_OPERATOR(Des3Operator);

}  // namespace
}  // namespace dpubench::des3
