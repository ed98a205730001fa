// rsa: signatures and encryption of RFC 8017 (PKCS #1 v2.2).

#include <map>

#include "operators/rsa/vectors.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench {
namespace {

using Bytes = std::vector<std::byte>;

const rsa::TestKey& key_of(const Params& params) {
  return *std::find_if(std::begin(rsa::kTestKeys), std::end(rsa::kTestKeys),
                       [&](const rsa::TestKey& k) { return k.bits == params.number("key_bits"); });
}

struct Moduli {
  Modular n, p, q;
};
/// Return the moduli of a key. They are made once, because making them is a good part of a signature's cost.
const Moduli& moduli_of(const rsa::TestKey& key) {
  static std::map<std::uint32_t, Moduli> made;
  const auto it = made.find(key.bits);
  if (it != made.end()) return it->second;
  const auto modular = [](std::string_view hex) { return Modular(limbs_of(from_hex(hex))); };
  return made.emplace(key.bits, Moduli{modular(key.n), modular(key.p), modular(key.q)}).first->second;
}

/// XOR MGF1 with SHA-256 into `data` (appendix B.2.1).
void mask(std::span<std::byte> data, Bytes seed) {
  seed.resize(seed.size() + 4);
  for (std::size_t at = 0, counter = 0; at < data.size(); ++counter) {
    for (std::size_t i = 0; i < 4; ++i) seed[seed.size() - 1 - i] = static_cast<std::byte>(counter >> 8 * i & 0xFFU);
    const Bytes block = sha256(seed);
    for (std::size_t i = 0; i < block.size() && at < data.size(); ++i) data[at++] ^= block[i];
  }
}

/// Return the EMSA-PKCS1-v1_5 encoding with SHA-256 (section 9.2).
Bytes encode_pkcs1(const Bytes& digest, std::size_t bytes) {
  const Bytes info = from_hex("3031300d060960864801650304020105000420");
  Bytes encoded(bytes, std::byte{0xFF});
  encoded[0] = std::byte{0};
  encoded[1] = std::byte{1};
  const Bytes tail = der::join({{std::byte{0}}, info, digest});
  std::copy(tail.begin(), tail.end(), encoded.end() - static_cast<std::ptrdiff_t>(tail.size()));
  return encoded;
}

/// Return the EMSA-PSS encoding with SHA-256 and a salt of 32 bytes, for a modulus of a whole number of bytes (section 9.1.1).
Bytes encode_pss(const Bytes& digest, std::size_t bytes, inputs::Random& random) {
  const Bytes salt = random_bytes(random, kDigestBytes);
  const Bytes hash = sha256(der::join({Bytes(8), digest, salt}));
  Bytes block(bytes - kDigestBytes - 1);
  block[block.size() - kDigestBytes - 1] = std::byte{1};
  std::copy(salt.begin(), salt.end(), block.end() - kDigestBytes);
  mask(block, hash);
  block[0] &= std::byte{0x7F};
  return der::join({block, hash, {std::byte{0xBC}}});
}

/// Return the EME-OAEP encoding with SHA-256, MGF1 with SHA-256 and an empty label (section 7.1.1).
Bytes encode_oaep(const Bytes& message, std::size_t bytes, inputs::Random& random) {
  const Bytes seed = random_bytes(random, kDigestBytes);
  const Bytes label = sha256({});
  Bytes block(bytes - kDigestBytes - 1);
  std::copy(label.begin(), label.end(), block.begin());
  block[block.size() - message.size() - 1] = std::byte{1};
  std::copy(message.begin(), message.end(), block.end() - static_cast<std::ptrdiff_t>(message.size()));
  mask(block, seed);
  Bytes masked = seed;
  mask(masked, block);
  return der::join({{std::byte{0}}, masked, block});
}

class RsaOperator final : public SignatureOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = signature_info("rsa");
      i.summary = "RSA with 2048, 3072 and 4096 bits: sign and verify (PKCS #1 v1.5, PSS), encrypt and decrypt (OAEP), SHA-256";
      i.definition =
          "sign: in: a 32-byte digest, or a message; out: the signature, as long as the modulus. verify: in: the same; aux: the "
          "signature's length (32-bit, native order), then the signature; status: ok or rejected; only valid signatures are "
          "timed. encrypt: in: 32 bytes, a session key; out: the ciphertext, as long as the modulus. decrypt: in: a ciphertext; "
          "out: the 32 bytes. PSS has a salt of 32 bytes; OAEP has MGF1 with SHA-256 and no label. The test keys have e = 65537; "
          "private operations use the Chinese remainder theorem.";
      i.parameters = {
          operation_parameter({"sign", "verify", "encrypt", "decrypt"}),
          {"padding", "pkcs1, pss: for signatures; oaep: for encryption", {"pkcs1", "pss", "oaep"}, "pkcs1", true, "", 0, 0},
          {"key_bits", "bits of the modulus", {"2048", "3072", "4096"}, "2048", false, "", 0, 0},
          input_parameter(),
          message_size_parameter()};
      i.equivalence_text =
          "PKCS #1 v1.5 signatures, verifying and decrypting: the same as the operator's own arithmetic; PSS signatures are "
          "verified, and rejected with a flipped bit; OAEP ciphertexts are decrypted to the input, and rejected with a flipped "
          "bit";
      i.sources = {"RFC 8017", "NIST CAVP 186-3 RSA SigGen15", "DPUBench (2023), security operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    const bool encryption = params.is("operation", "encrypt") || params.is("operation", "decrypt");
    if (encryption != params.is("padding", "oaep"))
      return "pkcs1 and pss are for sign and verify, oaep is for encrypt and decrypt";
    if (encryption && params.is("input", "message")) return "OAEP carries 32 bytes: use input=digest with encrypt and decrypt";
    return {};
  }

  [[nodiscard]] Equivalence equivalence(const Params& params) const override {
    const bool random = params.is("operation", "encrypt") || (params.is("operation", "sign") && params.is("padding", "pss"));
    return random ? Equivalence::kInverse : Equivalence::kIdentical;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    std::unique_ptr<Work> base = SignatureOperator::prepare(params, store, size);
    auto& work = static_cast<PkeyWork&>(*base);
    inputs::Random random = store.random("rsa padding");
    for (Item& item : work.items) {
      if (work.operation == PkeyWork::Operation::kDecrypt) {
        work.expected.push_back({item.in, 0, kStatusOk});
        item.in = encrypt(params, item.in, random);
      } else if (work.operation == PkeyWork::Operation::kSign && work.padding == PkeyWork::Padding::kPkcs1) {
        work.expected.push_back({sign(params, work.hashes ? sha256(item.in) : item.in, random), 0, kStatusOk});
      }
    }
    return base;
  }

  [[nodiscard]] std::unique_ptr<Work> inverse(const Work& base, std::span<const std::size_t> items,
                                              std::span<const Output> outputs) const override {
    const auto& made = static_cast<const PkeyWork&>(base);
    if (made.operation == PkeyWork::Operation::kSign) return SignatureOperator::inverse(base, items, outputs);
    Params params = made.params;
    params.set("operation", std::string("decrypt"));
    std::unique_ptr<PkeyWork> work = frame(params);
    constexpr std::size_t kCorrupted = 4;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].bytes.size() != made.out_bytes) throw Error("a ciphertext is not as long as the modulus");
      work->items.push_back({outputs[i].bytes, {}, work->out_bytes});
      work->expected.push_back({made.items.at(items[i]).in, 0, kStatusOk});
      if (i >= kCorrupted) continue;
      work->items.push_back({flipped(outputs[i].bytes, outputs[i].bytes.size() - 1), {}, work->out_bytes});
      work->expected.push_back({{}, 0, kStatusRejected});
    }
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<KnownAnswer> answers;
    if (!params.is("padding", "pkcs1")) return answers;
    for (const rsa::Vector& v : rsa::kVectors) {
      if (v.bits != params.number("key_bits")) continue;
      const Signed pair[] = {{from_hex(v.message), from_hex(v.signature)}};
      answers.push_back(verification(params, "NIST CAVP 186-3 SigGen15, SHA-256, " + std::to_string(v.bits) + " bits", pair));
      auto& work = static_cast<PkeyWork&>(*answers.back().work);
      work.key = der::sequence({der::integer(from_hex(v.n)), der::integer(from_hex(v.e))});
      work.key_is_public = true;
    }
    return answers;
  }

 protected:
  [[nodiscard]] std::unique_ptr<PkeyWork> frame(const Params& params) const override {
    auto work = std::make_unique<PkeyWork>();
    set_common(*work, params);
    const rsa::TestKey& key = key_of(params);
    const auto number = [](std::string_view hex) { return der::integer(from_hex(hex)); };
    work->key_type = "RSA";
    work->key = der::sequence({der::integer({}), number(key.n), number("010001"), number(key.d), number(key.p), number(key.q),
                               number(key.dp), number(key.dq), number(key.qinv)});
    work->padding = params.is("padding", "pkcs1") ? PkeyWork::Padding::kPkcs1
                    : params.is("padding", "pss") ? PkeyWork::Padding::kPss
                                                  : PkeyWork::Padding::kOaep;
    work->out_bytes = key.bits / 8;
    return work;
  }

  [[nodiscard]] Bytes sign(const Params& params, const Bytes& digest, inputs::Random& random) const override {
    const rsa::TestKey& key = key_of(params);
    const std::size_t bytes = key.bits / 8;
    const Limbs message = limbs_of(params.is("padding", "pss") ? encode_pss(digest, bytes, random) : encode_pkcs1(digest, bytes));
    // Section 5.1.2: with the primes, the work is a quarter.
    const auto& [n, p, q] = moduli_of(key);
    const Limbs m1 = p.pow(p.reduce(message), limbs_of(from_hex(key.dp)));
    const Limbs m2 = q.pow(q.reduce(message), limbs_of(from_hex(key.dq)));
    const Limbs h = p.mul(p.sub(m1, p.reduce(m2)), p.reduce(limbs_of(from_hex(key.qinv))));
    return bytes_of_limbs(n.add(n.reduce(m2), n.mul(n.reduce(h), n.reduce(q.modulus()))), bytes);
  }

 private:
  static Bytes encrypt(const Params& params, const Bytes& message, inputs::Random& random) {
    const rsa::TestKey& key = key_of(params);
    const Modular& n = moduli_of(key).n;
    return bytes_of_limbs(n.pow(limbs_of(encode_oaep(message, key.bits / 8, random)), {65537}), key.bits / 8);
  }
};

DPUBENCH_OPERATOR(RsaOperator);

}  // namespace
}  // namespace dpubench
