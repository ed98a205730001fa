// des3: bare loop over EVP_Cipher.
// requires: libcrypto >= 3.0

#include <openssl/evp.h>

#include "../support/bare.hpp"
#include "operators/des3/work.hpp"

namespace dpubench::bare {
namespace {

struct CipherLoop {
  std::shared_ptr<EVP_CIPHER_CTX> ctx;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      int n = 0;
      EVP_CipherInit_ex2(ctx.get(), nullptr, nullptr, reinterpret_cast<const unsigned char*>(b.aux[i]), -1, nullptr);
      EVP_CipherUpdate(ctx.get(), reinterpret_cast<unsigned char*>(b.out[i]), &n, reinterpret_cast<const unsigned char*>(b.in[i]),
                       static_cast<int>(b.in_len[i]));
      b.out_len[i] = static_cast<std::uint32_t>(n);
      b.status[i] = kStatusOk;
    }
  }
};

std::unique_ptr<Session> prepare(const Work& any) {
  const auto& work = static_cast<const des3::Des3Work&>(any);
  std::shared_ptr<EVP_CIPHER> cipher(EVP_CIPHER_fetch(nullptr, "DES-EDE3-CBC", nullptr), &EVP_CIPHER_free);
  return timed_session(
      [cipher, &work] {
        std::shared_ptr<EVP_CIPHER_CTX> ctx(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
        EVP_CipherInit_ex2(ctx.get(), cipher.get(), reinterpret_cast<const unsigned char*>(work.key.data()), nullptr,
                           work.encrypt, nullptr);
        EVP_CIPHER_CTX_set_padding(ctx.get(), 0);
        return CipherLoop{ctx};
      },
      {"generic", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("des3", "openssl-bare", dpubench::bare::prepare));
}
