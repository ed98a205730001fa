// hmac: bare loop over EVP_MAC.
// requires: libcrypto >= 3.0

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "../support/bare.hpp"
#include "operators/hmac/work.hpp"

namespace dpubench::bare {
namespace {

struct MacLoop {
  std::shared_ptr<EVP_MAC_CTX> ctx;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::size_t n = 0;
      EVP_MAC_init(ctx.get(), nullptr, 0, nullptr);
      EVP_MAC_update(ctx.get(), reinterpret_cast<const unsigned char*>(b.in[i]), b.in_len[i]);
      EVP_MAC_final(ctx.get(), reinterpret_cast<unsigned char*>(b.out[i]), &n, 32);
      b.out_len[i] = static_cast<std::uint32_t>(n);
      b.status[i] = kStatusOk;
    }
  }
};

std::unique_ptr<Session> prepare(const Work& any) {
  const auto& work = static_cast<const hmac::HmacWork&>(any);
  std::shared_ptr<EVP_MAC> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr), &EVP_MAC_free);
  return timed_session(
      [mac, &work] {
        const char* const names[] = {"MD5", "SHA1", "SHA256"};
        std::string digest = names[static_cast<int>(work.hash)];
        const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                                     OSSL_PARAM_construct_end()};
        std::shared_ptr<EVP_MAC_CTX> ctx(EVP_MAC_CTX_new(mac.get()), &EVP_MAC_CTX_free);
        EVP_MAC_init(ctx.get(), reinterpret_cast<const unsigned char*>(work.key.data()), work.key.size(), params);
        return MacLoop{ctx};
      },
      {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("hmac", "openssl-bare", dpubench::bare::prepare));
}
