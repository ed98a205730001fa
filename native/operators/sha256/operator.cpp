// sha256: the hash of a message (FIPS 180-4).

#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

constexpr std::uint32_t kDigestBytes = 32;

class Sha256Operator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "sha256";
      i.scenarios = {"security"};
      i.summary = "SHA-256 of a message";
      i.definition = "in: the message. out: its 32-byte digest. One operation is one whole message, padding included.";
      i.parameters = {size_parameter()};
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text = "the same digest as the reference engine";
      i.primary_metric = "gbps";
      i.processes_all_bytes = true;
      i.reference_engine = "portable";
      i.sources = {"FIPS 180-4 section 6.2", "DPUBench (2023), security operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<Work>();
    work->items = random_messages(store, "sha256", size.items, params.number("size"), kDigestBytes);
    describe_generated(*work, store, "sha256");
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    auto work = std::make_unique<Work>();
    work->params = params;
    const auto add = [&](std::string_view message, std::string_view digest) {
      work->items.push_back({bytes_of(message), {}, kDigestBytes});
      work->expected.push_back({from_hex(digest), 0, kStatusOk});
    };
    // FIPS 180-2 appendix B.1 to B.3 (the examples that FIPS 180-4 refers to).
    add("abc", "ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 96177a9c b410ff61 f20015ad");
    add("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61 d20638b8 e5c02693 0c3e6039 a33ce459 64ff2167 f6ecedd4 19db06c1");
    add(std::string(1'000'000, 'a'), "cdc76e5c 9914fb92 81a1c7e2 84d73e67 f1809a48 a497200e 046d39cc c7112cd0");
    std::vector<KnownAnswer> answers;
    answers.push_back({"FIPS 180-2 B.1-B.3", std::move(work)});
    return answers;
  }
};

DPUBENCH_OPERATOR(Sha256Operator);

}  // namespace
}  // namespace dpubench
