// hmac, engines cryptodev: DPDK's crypto devices.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/dpdk/cryptodev.hpp"
#include "operators/hmac/work.hpp"

namespace dpubench::hmac {
namespace {

using cryptodev::Kind;
using cryptodev::Transform;

rte_crypto_auth_algorithm algorithm_of(Hash hash) {
  switch (hash) {
    case Hash::kMd5:
      return RTE_CRYPTO_AUTH_MD5_HMAC;
    case Hash::kSha1:
      return RTE_CRYPTO_AUTH_SHA1_HMAC;
    case Hash::kSha256:
      break;
  }
  return RTE_CRYPTO_AUTH_SHA256_HMAC;
}

Hash hash_of(const Params& params) {
  if (params.is("hash", "md5")) return Hash::kMd5;
  return params.is("hash", "sha1") ? Hash::kSha1 : Hash::kSha256;
}

class Cryptodev final : public cryptodev::DeviceEngine {
 public:
  explicit Cryptodev(cryptodev::Provider provider) : DeviceEngine("hmac", std::move(provider)) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    const Hash hash = hash_of(params);
    if (std::string reason = lacks(transform(hash, std::vector<std::byte>(tag_bytes(hash)))); !reason.empty()) return reason;
    return too_long(params.number("size"), RTE_CRYPTODEV_FF_IN_PLACE_SGL, true);
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const HmacWork&>(any);
    // Drivers take keys of at most one block. RFC 2104 section 2 replaces a longer key by its hash, which block_key holds.
    Transform t = transform(work.hash, work.key.size() > kBlockBytes ? work.block_key : work.key);
    return std::make_unique<cryptodev::SymSession<Kind::kHash>>(provider(), work, std::move(t), true, tag_bytes(work.hash));
  }

 private:
  static Transform transform(Hash hash, std::vector<std::byte> key) {
    return Transform::hash(algorithm_of(hash), static_cast<std::uint16_t>(tag_bytes(hash)), std::move(key));
  }
};

}  // namespace
}  // namespace dpubench::hmac

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), aesni_mb(), openssl()}) {
    sink.add(std::make_unique<dpubench::hmac::Cryptodev>(provider));
  }
}
