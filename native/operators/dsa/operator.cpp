// dsa: signatures of FIPS 186-4 with a prime of 2048 bits and a subgroup of 256.

#include "operators/dsa/vectors.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench {
namespace {

class DsaOperator final : public SignatureOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = signature_info("dsa");
      i.summary = "DSA signature (2048-bit prime, 256-bit subgroup, SHA-256): sign and verify";
      i.definition =
          "in: a 32-byte digest, or a message. sign: out: the signature, DER SEQUENCE {r, s}, at most 72 bytes, with a fresh "
          "random "
          "nonce. verify: aux: the signature's length (32-bit, native order), then the signature; status: ok or rejected; only "
          "valid "
          "signatures are timed. Parameters and key are those of RFC 6979 A.2.2.";
      i.parameters = {operation_parameter({"sign", "verify"}), input_parameter(), message_size_parameter()};
      i.equivalence_text =
          "every engine verifies the signature, and rejects it after a bit flip in the signature or in the signed input; "
          "verifying accepts signatures made by the operator's own arithmetic";
      i.sources = {"FIPS 186-4 section 4", "RFC 6979 A.2.2"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<Signed> pairs;
    for (const dsa::Vector& v : dsa::kVectors)
      pairs.push_back({bytes_of(v.message), dss_signature(from_hex(v.r), from_hex(v.s))});
    std::vector<KnownAnswer> answers;
    answers.push_back(verification(params, "RFC 6979 A.2.2, SHA-256", pairs));
    return answers;
  }

 protected:
  [[nodiscard]] std::unique_ptr<PkeyWork> frame(const Params& params) const override {
    auto work = std::make_unique<PkeyWork>();
    set_common(*work, params);
    work->key_type = "DSA";
    const auto number = [](std::string_view hex) { return der::integer(from_hex(hex)); };
    work->key =
        der::sequence({der::integer({}), number(dsa::kP), number(dsa::kQ), number(dsa::kG), number(dsa::kY), number(dsa::kX)});
    work->out_bytes = 72;
    return work;
  }

  /// Sign as in FIPS 186-4 section 4.6.
  [[nodiscard]] std::vector<std::byte> sign(const Params&, const std::vector<std::byte>& digest,
                                            inputs::Random& random) const override {
    static const Modular p(limbs_of(from_hex(dsa::kP)));
    static const Modular q(limbs_of(from_hex(dsa::kQ)));
    for (;;) {
      const Limbs k = q.reduce(limbs_of(random_bytes(random, 40)));
      if (Modular::is_zero(k)) continue;
      const Limbs r = q.reduce(p.pow(limbs_of(from_hex(dsa::kG)), k));
      const Limbs xr = q.mul(limbs_of(from_hex(dsa::kX)), r);
      const Limbs s = q.mul(q.inverse(k), q.add(q.reduce(limbs_of(digest)), xr));
      if (!Modular::is_zero(r) && !Modular::is_zero(s)) return dss_signature(bytes_of_limbs(r, 32), bytes_of_limbs(s, 32));
    }
  }
};

DPUBENCH_OPERATOR(DsaOperator);

}  // namespace
}  // namespace dpubench
