// The common part of the operators rsa, dsa and ecdsa: their work, DER (ITU-T X.690), and the frame of signing and verifying.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inputs/digest.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"
#include "operators/support/signatures/bignum.hpp"

namespace dpubench {

/// The work of the public-key operators. `aux` of an item to verify holds the length of the signature (32-bit, native order),
/// then the signature.
class PkeyWork final : public Work {
 public:
  enum class Operation : std::uint8_t { kSign, kVerify, kEncrypt, kDecrypt };
  enum class Padding : std::uint8_t { kNone, kPkcs1, kPss, kOaep };
  Operation operation = Operation::kSign;
  Padding padding = Padding::kNone;
  bool hashes = false;   ///< `in` is a message to hash with SHA-256 first
  std::string key_type;  ///< "RSA", "DSA", "EC"
  std::vector<std::byte>
      key;  ///< DER: RSAPrivateKey or RSAPublicKey (RFC 8017), DSAPrivateKey (OpenSSL), ECPrivateKey (RFC 5915)
  bool key_is_public = false;
  std::uint32_t out_bytes = 0;  ///< most bytes that an operation yields
};

namespace der {

using Bytes = std::vector<std::byte>;

inline Bytes value(unsigned tag, const Bytes& content) {
  Bytes out;
  out.reserve(content.size() + 4);
  const auto put = [&out](std::size_t byte) { out.push_back(static_cast<std::byte>(byte & 0xFFU)); };
  const std::size_t n = content.size();
  put(tag);
  if (n >= 128) put(n >= 256 ? 0x82 : 0x81);  // the long form: the number of length bytes that follow
  if (n >= 256) put(n >> 8);
  put(n);
  out.insert(out.end(), content.begin(), content.end());
  return out;
}
inline Bytes join(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}
/// Return a non-negative INTEGER from big-endian bytes.
inline Bytes integer(Bytes number) {
  number.erase(number.begin(), std::find_if(number.begin(), number.end(), [](std::byte b) { return b != std::byte{}; }));
  if (number.empty() || (number[0] & std::byte{0x80}) != std::byte{}) number.insert(number.begin(), std::byte{});
  return value(0x02, number);
}
inline Bytes sequence(std::initializer_list<Bytes> parts) {
  return value(0x30, join(parts));
}
/// Return the INTEGERs of a DER SEQUENCE, as big-endian bytes without leading zeros. @throws Error when `der` is none
inline std::vector<Bytes> numbers(const Bytes& der) {
  std::size_t at = 0;
  const auto take = [&] {
    if (at >= der.size()) throw Error("the key ends too early");
    return std::to_integer<std::size_t>(der[at++]);
  };
  const auto length = [&] {
    std::size_t n = take();
    if (n < 128) return n;
    std::size_t value = 0;
    for (n &= 127; n != 0; --n) value = value << 8 | take();
    return value;
  };
  if (take() != 0x30) throw Error("the key is not a DER sequence");
  static_cast<void>(length());
  std::vector<Bytes> found;
  while (at < der.size()) {
    if (take() != 0x02) throw Error("the key holds something other than numbers");
    const std::size_t n = length();
    if (n > der.size() - at) throw Error("the key ends too early");
    const auto begin = der.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(n);
    found.emplace_back(std::find_if(begin, end, [](std::byte b) { return b != std::byte{}; }), end);
    at += n;
  }
  return found;
}

}  // namespace der

constexpr std::uint32_t kDigestBytes = 32;

inline std::vector<std::byte> sha256(std::span<const std::byte> data) {
  const auto digest = inputs::Sha256::of(data);
  return {digest.begin(), digest.end()};
}

inline std::vector<std::byte> random_bytes(inputs::Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  random.fill(bytes);
  return bytes;
}

/// Add an item to verify. @param status  the status that must come out
inline void add_verification(PkeyWork& work, std::vector<std::byte> in, std::span<const std::byte> signature,
                             std::uint8_t status) {
  Item item;
  item.in = std::move(in);
  const auto length = static_cast<std::uint32_t>(signature.size());
  item.aux.resize(sizeof length + signature.size());
  std::memcpy(item.aux.data(), &length, sizeof length);
  std::copy(signature.begin(), signature.end(), item.aux.begin() + sizeof length);
  work.items.push_back(std::move(item));
  work.expected.push_back({{}, 0, status});
}

inline std::vector<std::byte> flipped(std::vector<std::byte> bytes, std::size_t at) {
  bytes[at] ^= std::byte{1};
  return bytes;
}

/// Add a valid signature, and invalid copies with a bit flipped in the signature or in the signed input.
inline void add_verification_and_copies(PkeyWork& work, const std::vector<std::byte>& in,
                                        const std::vector<std::byte>& signature) {
  add_verification(work, in, signature, kStatusOk);
  add_verification(work, in, flipped(signature, signature.size() - 1), kStatusRejected);
  add_verification(work, in, flipped(signature, signature.size() / 2), kStatusRejected);
  add_verification(work, flipped(in, in.size() / 2), signature, kStatusRejected);
}

/// The operator of a signature scheme, with the parameters `operation` and `input`.
class SignatureOperator : public Operator {
 public:
  [[nodiscard]] Equivalence equivalence(const Params& params) const override {
    return params.is("operation", "sign") ? Equivalence::kInverse : Equivalence::kIdentical;
  }

  /// Return whether outputs contain nonces, salts or OAEP seeds: these outputs cannot be compared byte by byte.
  [[nodiscard]] bool randomized(const Params& params) const override { return equivalence(params) == Equivalence::kInverse; }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    std::unique_ptr<PkeyWork> work = frame(params);
    inputs::Random random = store.random(info().name);
    const std::size_t bytes = work->hashes ? params.number("size") : kDigestBytes;
    for (std::uint32_t i = 0; i < size.items; ++i) {
      std::vector<std::byte> in = random_bytes(random, bytes);
      if (work->operation == PkeyWork::Operation::kVerify) {
        add_verification(*work, in, sign(params, work->hashes ? sha256(in) : in, random), kStatusOk);
      } else {
        work->items.push_back({std::move(in), {}, work->out_bytes});
      }
    }
    describe_generated(*work, store, info().name);
    return work;
  }

  [[nodiscard]] std::unique_ptr<Work> inverse(const Work& base, std::span<const std::size_t> items,
                                              std::span<const Output> outputs) const override {
    const auto& made = static_cast<const PkeyWork&>(base);
    Params params = made.params;
    params.set("operation", std::string("verify"));
    std::unique_ptr<PkeyWork> work = frame(params);
    work->key = made.key;
    work->key_is_public = made.key_is_public;
    constexpr std::size_t kCorrupted = 4;  // every output is verified; a few corrupted copies show that verifying can fail
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<std::byte>& in = made.items.at(items[i]).in;
      if (outputs[i].bytes.empty()) throw Error("the signature is empty");
      if (i < kCorrupted) {
        add_verification_and_copies(*work, in, outputs[i].bytes);
      } else {
        add_verification(*work, in, outputs[i].bytes, kStatusOk);
      }
    }
    return work;
  }

 protected:
  /// Return the work of a configuration, without items.
  [[nodiscard]] virtual std::unique_ptr<PkeyWork> frame(const Params& params) const = 0;
  /// Sign a digest with the operator's own arithmetic.
  [[nodiscard]] virtual std::vector<std::byte> sign(const Params& params, const std::vector<std::byte>& digest,
                                                    inputs::Random& random) const = 0;

  static OperatorInfo signature_info(std::string name) {
    OperatorInfo i;
    i.name = std::move(name);
    i.scenarios = {"security"};
    i.primary_metric = "kops";
    i.equivalence = Equivalence::kIdentical;
    i.reference_engine = "openssl";
    // Every round makes its inputs anew, in portable arithmetic, and verifies each item. The contents hardly change an
    // operation's time.
    i.distinct_items = 16;
    i.default_burst = 1;
    return i;
  }
  static Parameter operation_parameter(std::vector<std::string> values) {
    return {"operation", "use of the key", std::move(values), "sign", true, "", 0, 0};
  }
  static Parameter input_parameter() {
    return {"input",
            "digest: 32 bytes, not hashed again; message: `size` bytes, hashed with SHA-256 as part of the operation",
            {"digest", "message"},
            "digest",
            true,
            "",
            0,
            0};
  }
  /// Return the `size` parameter of a message. A digest has none, because it always has 32 bytes.
  static Parameter message_size_parameter() {
    Parameter size = size_parameter();
    size.only_with = {"input", "message"};
    return size;
  }
  static void set_common(PkeyWork& work, const Params& params) {
    work.params = params;
    const std::string& operation = params.text("operation");
    work.operation = operation == "sign"      ? PkeyWork::Operation::kSign
                     : operation == "verify"  ? PkeyWork::Operation::kVerify
                     : operation == "encrypt" ? PkeyWork::Operation::kEncrypt
                                              : PkeyWork::Operation::kDecrypt;
    work.hashes = params.is("input", "message");
  }
  /// A message and its signature.
  struct Signed {
    std::vector<std::byte> message;
    std::vector<std::byte> signature;
  };
  /// Return a known answer of verification: (message, signature) pairs with copies that must be rejected.
  [[nodiscard]] KnownAnswer verification(const Params& params, std::string name, std::span<const Signed> pairs) const {
    Params verify = params;
    verify.set("operation", std::string("verify"));
    std::unique_ptr<PkeyWork> work = frame(verify);
    for (const Signed& pair : pairs) {
      add_verification_and_copies(*work, work->hashes ? pair.message : sha256(pair.message), pair.signature);
    }
    return {std::move(name), std::move(work)};
  }
};

/// Return the SEQUENCE { r, s } of DSA and ECDSA (RFC 3279 section 2.2.2).
inline std::vector<std::byte> dss_signature(const std::vector<std::byte>& r, const std::vector<std::byte>& s) {
  return der::sequence({der::integer(r), der::integer(s)});
}

}  // namespace dpubench
