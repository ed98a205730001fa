// rsa, engines cryptodev: DPDK's crypto devices sign and verify digests (PKCS #1 v1.5). Asymmetric operations do not hash, and
// few drivers have PSS and OAEP.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"
#include "operators/support/dpdk/cryptodev_asym.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench {
namespace {

using cryptodev::number_of;
using cryptodev::Provider;
using Bytes = std::vector<std::byte>;

/// The bytes before a SHA-256 digest in a DigestInfo (RFC 8017 section 9.2, note 1).
constexpr std::array<std::uint8_t, 19> kSha256Info = {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
                                                      0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20};

/// Signing or verifying with a key (an Algorithm of cryptodev::AsymQueue).
struct RsaAlgorithm {
  std::vector<Bytes> key;  ///< RSAPublicKey: n, e; RSAPrivateKey: 0, n, e, d, p, q, dP, dQ, qInv (RFC 8017 appendix A.1)
  bool is_public = false;
  bool sign = false;

  struct Slot {
    std::array<std::uint8_t, kSha256Info.size() + kDigestBytes> message;  ///< DigestInfo
  };

  [[nodiscard]] std::uint32_t bits() const { return static_cast<std::uint32_t>(key.at(is_public ? 0 : 1).size() * 8); }

  [[nodiscard]] rte_crypto_asym_xform xform() const {
    rte_crypto_asym_xform x{};
    x.xform_type = RTE_CRYPTO_ASYM_XFORM_RSA;
    x.rsa.n = number_of(key.at(is_public ? 0 : 1));
    x.rsa.e = number_of(key.at(is_public ? 1 : 2));
    x.rsa.key_type = is_public ? RTE_RSA_KEY_TYPE_EXP : RTE_RSA_KEY_TYPE_QT;
    if (is_public) {
      x.rsa.d = x.rsa.e;  // drivers want one, but verifying does not use it
    } else {
      x.rsa.qt = {number_of(key.at(4)), number_of(key.at(5)), number_of(key.at(6)), number_of(key.at(7)), number_of(key.at(8))};
    }
    return x;
  }

  void set_up(rte_crypto_asym_op& op, Slot& slot, rte_iova_t of_slot) const {
    op.rsa.op_type = sign ? RTE_CRYPTO_ASYM_OP_SIGN : RTE_CRYPTO_ASYM_OP_VERIFY;
    op.rsa.padding.type = RTE_CRYPTO_RSA_PADDING_PKCS1_5;
    op.rsa.padding.hash = RTE_CRYPTO_AUTH_SHA256;
    std::copy(kSha256Info.begin(), kSha256Info.end(), slot.message.begin());
    op.rsa.message = {slot.message.data(), of_slot + offsetof(Slot, message), slot.message.size()};
  }

  void fill(rte_crypto_asym_op& op, Slot& slot, const Burst& burst, std::uint32_t i) const noexcept {
    std::memcpy(slot.message.data() + kSha256Info.size(), burst.in[i], kDigestBytes);
    const std::byte* data = burst.out[i];
    std::uint32_t length = 0;
    if (!sign) {
      std::memcpy(&length, burst.aux[i], sizeof length);
      data = burst.aux[i] + sizeof length;
    }
    op.rsa.sign = {const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(data)), reinterpret_cast<std::uintptr_t>(data),
                   length};
  }

  std::uint8_t complete(bool success, const rte_crypto_asym_op& op, const Slot&, Burst& burst, std::uint32_t i) const noexcept {
    if (sign) burst.out_len[i] = static_cast<std::uint32_t>(op.rsa.sign.length);
    return success ? kStatusOk : kStatusRejected;
  }
};

std::string device_lacks(const cryptodev::Device& device, bool sign, std::uint32_t key_bits) {
  return cryptodev::lacks(device, RTE_CRYPTO_ASYM_XFORM_RSA, "RSA", sign, key_bits);
}

class Rsa final : public cryptodev::DeviceEngine {
 public:
  explicit Rsa(Provider provider) : DeviceEngine("rsa", std::move(provider)) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (!params.is("padding", "pkcs1")) return "PKCS #1 v1.5 only: few drivers have PSS or OAEP";
    if (params.is("input", "message")) return "devices take digests only: use input=digest";
    if (provider().is_software()) {
      // DPDK 22.11: process_openssl_rsa_op_evp compares the signature's content with the message, logs a difference, and reports
      // success.
      return params.is("operation", "verify") ? "crypto_openssl accepts a signature of another message (DPDK 22.11)" : "";
    }
    return dpdk::reason_of([&] {
      return device_lacks(*provider().device(0).first, params.is("operation", "sign"),
                          static_cast<std::uint32_t>(params.number("key_bits")));
    });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const PkeyWork&>(any);
    RsaAlgorithm rsa{der::numbers(work.key), work.key_is_public, work.operation == PkeyWork::Operation::kSign};
    if (const std::string reason = device_lacks(*provider().device(0).first, rsa.sign, rsa.bits()); !reason.empty()) {
      throw Error(reason);
    }
    return std::make_unique<cryptodev::AsymSession<RsaAlgorithm>>(
        provider(), std::move(rsa),
        "rte_cryptodev_enqueue_burst, RSA; the engine copies the 32 bytes of a digest behind their DigestInfo");
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), openssl()}) sink.add(std::make_unique<dpubench::Rsa>(provider));
}
