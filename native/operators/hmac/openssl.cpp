// hmac, engine openssl: EVP_MAC with one context per thread and the key set once.
// requires: libcrypto >= 3.0

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <memory>
#include <string>

#include "operators/engine.hpp"
#include "operators/hmac/work.hpp"
#include "operators/support/openssl/openssl.hpp"

namespace dpubench::hmac {
namespace {

using Context = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;

struct Kernel {
  Context context;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::size_t length = 0;
      // Without a key argument, the context starts again with the key that it has. Nothing that depends only on the key is
      // repeated.
      const bool ok = EVP_MAC_init(context.get(), nullptr, 0, nullptr) == 1 &&
                      EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(b.in[i]), b.in_len[i]) == 1 &&
                      EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(b.out[i]), &length, b.out_room[i]) == 1;
      b.out_len[i] = static_cast<std::uint32_t>(length);
      b.status[i] = ok ? kStatusOk : kStatusRejected;
    }
  }
};

Context open(EVP_MAC* mac, std::string digest, const std::vector<std::byte>& key) {
  Context context(EVP_MAC_CTX_new(mac), &EVP_MAC_CTX_free);
  openssl::require(context != nullptr, "EVP_MAC_CTX_new");
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                               OSSL_PARAM_construct_end()};
  openssl::require(EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size(), params) == 1,
                   "EVP_MAC_init HMAC " + digest);
  return context;
}

class OpenSsl final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"hmac", "openssl", "EVP_MAC", openssl::version()};
    return info;
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const HmacWork&>(any);
    EVP_MAC* const fetched = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    openssl::require(fetched != nullptr, "EVP_MAC_fetch HMAC");
    const std::shared_ptr<EVP_MAC> mac(fetched, &EVP_MAC_free);
    const std::string digest = work.hash == Hash::kMd5 ? "MD5" : work.hash == Hash::kSha1 ? "SHA1" : "SHA256";
    return kernel_session([mac, digest, key = work.key] { return Kernel{open(mac.get(), digest, key)}; },
                          {"chosen by library", "EVP_MAC_update HMAC " + digest, false});
  }
};

}  // namespace
}  // namespace dpubench::hmac

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::hmac::OpenSsl>());
}
