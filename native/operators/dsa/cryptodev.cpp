// dsa, engines cryptodev: DPDK's crypto devices sign and verify digests. Asymmetric operations do not hash, and they take and
// return a signature as two numbers.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"
#include "operators/dsa/der_signature.hpp"
#include "operators/support/dpdk/cryptodev_asym.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench {
namespace {

using cryptodev::number_of;
using cryptodev::Provider;

/// Signing or verifying with a key (an Algorithm of cryptodev::AsymQueue).
struct DsaAlgorithm {
  std::vector<std::vector<std::byte>> key;  ///< DSAPrivateKey (OpenSSL): 0, p, q, g, y, x
  bool sign = false;

  struct Slot {
    dsa::Signature signature;
    bool is_signature;  ///< verification: the given bytes are the encoding of a signature
  };

  [[nodiscard]] std::uint32_t bits() const { return static_cast<std::uint32_t>(key.at(1).size() * 8); }

  [[nodiscard]] rte_crypto_asym_xform xform() const {
    rte_crypto_asym_xform x{};
    x.xform_type = RTE_CRYPTO_ASYM_XFORM_DSA;
    x.dsa = {number_of(key.at(1)), number_of(key.at(2)), number_of(key.at(3)), number_of(key.at(5))};
    return x;
  }

  void set_up(rte_crypto_asym_op& op, Slot& slot, rte_iova_t of_slot) const {
    op.dsa.op_type = sign ? RTE_CRYPTO_ASYM_OP_SIGN : RTE_CRYPTO_ASYM_OP_VERIFY;
    op.dsa.k = {};  // the device draws the nonce
    op.dsa.r = {slot.signature.r.data(), of_slot + offsetof(Slot, signature) + offsetof(dsa::Signature, r), dsa::kNumberBytes};
    op.dsa.s = {slot.signature.s.data(), of_slot + offsetof(Slot, signature) + offsetof(dsa::Signature, s), dsa::kNumberBytes};
    op.dsa.y = number_of(key.at(4));
  }

  void fill(rte_crypto_asym_op& op, Slot& slot, const Burst& burst, std::uint32_t i) const noexcept {
    auto* const message = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(burst.in[i]));
    op.dsa.message = {message, reinterpret_cast<std::uintptr_t>(message), kDigestBytes};
    op.dsa.r.length = op.dsa.s.length = dsa::kNumberBytes;
    if (sign) return;
    std::uint32_t length = 0;
    std::memcpy(&length, burst.aux[i], sizeof length);
    // Other bytes than an encoding go to the device as two zeros; complete() refuses them whatever the device answers.
    slot.is_signature = dsa::decode({burst.aux[i] + sizeof length, length}, slot.signature);
  }

  std::uint8_t complete(bool success, const rte_crypto_asym_op& op, const Slot& slot, Burst& burst,
                        std::uint32_t i) const noexcept {
    if (!sign) return success && slot.is_signature ? kStatusOk : kStatusRejected;
    burst.out_len[i] = 0;
    if (!success || op.dsa.r.length > dsa::kNumberBytes || op.dsa.s.length > dsa::kNumberBytes) return kStatusRejected;
    burst.out_len[i] =
        dsa::encode({slot.signature.r.data(), op.dsa.r.length}, {slot.signature.s.data(), op.dsa.s.length}, burst.out[i]);
    return kStatusOk;
  }
};

std::string device_lacks(const cryptodev::Device& device, bool sign, std::uint32_t bits) {
  return cryptodev::lacks(device, RTE_CRYPTO_ASYM_XFORM_DSA, "DSA", sign, bits);
}

class Dsa final : public cryptodev::DeviceEngine {
 public:
  explicit Dsa(Provider provider) : DeviceEngine("dsa", std::move(provider)) {}

  [[nodiscard]] std::string unavailable() const override {
    std::string reason = DeviceEngine::unavailable();
    // DPDK 22.11 keeps a session's key in an OSSL_PARAM_BLD and makes an array of it for every operation. This empties it
    // (OSSL_PARAM_BLD(3)), so the next operation has no key. dsa_test.cpp shows the fault.
    if (!reason.empty() || !provider().is_software()) return reason;
    return "crypto_openssl loses a DSA session's key with the first operation (DPDK 22.11, OpenSSL 3)";
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (params.is("input", "message")) return "devices take digests only: use input=digest";
    if (provider().is_software()) return {};
    return dpdk::reason_of([&] { return device_lacks(*provider().device(0).first, params.is("operation", "sign"), kPrimeBits); });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const PkeyWork&>(any);
    DsaAlgorithm dsa{der::numbers(work.key), work.operation == PkeyWork::Operation::kSign};
    if (const std::string reason = device_lacks(*provider().device(0).first, dsa.sign, dsa.bits()); !reason.empty()) {
      throw Error(reason);
    }
    return std::make_unique<cryptodev::AsymSession<DsaAlgorithm>>(
        provider(), std::move(dsa), "rte_cryptodev_enqueue_burst, DSA; the engine encodes and decodes the signatures");
  }

 private:
  static constexpr std::uint32_t kPrimeBits = 2048;
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), openssl()}) sink.add(std::make_unique<dpubench::Dsa>(provider));
}
