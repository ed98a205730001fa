// aes: bare loop over EVP_Cipher.
// requires: libcrypto >= 3.0

#include <openssl/evp.h>

#include "../support/bare.hpp"
#include "operators/aes/work.hpp"

namespace dpubench::bare {
namespace {

struct CipherLoop {
  std::shared_ptr<EVP_CIPHER_CTX> ctx;
  bool gcm;
  bool encrypt;
  int aad;

  void operator()(Burst& b) noexcept {
    EVP_CIPHER_CTX* const c = ctx.get();
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const auto* aux = reinterpret_cast<const unsigned char*>(b.aux[i]);
      const auto* in = reinterpret_cast<const unsigned char*>(b.in[i]);
      auto* out = reinterpret_cast<unsigned char*>(b.out[i]);
      const int text = static_cast<int>(b.in_len[i]) - (gcm && !encrypt ? 16 : 0);
      int n = 0;
      int ok = EVP_CipherInit_ex2(c, nullptr, nullptr, aux, -1, nullptr);
      if (gcm) EVP_CipherUpdate(c, nullptr, &n, aux + 12, aad);
      EVP_CipherUpdate(c, out, &n, in, text);
      if (gcm && encrypt) {
        EVP_CipherFinal_ex(c, out + text, &n);
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, out + text);
      } else if (gcm) {
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, const_cast<unsigned char*>(in + text));
        ok = EVP_CipherFinal_ex(c, out + text, &n);
      }
      b.out_len[i] = static_cast<std::uint32_t>(text + (gcm && encrypt ? 16 : 0));
      b.status[i] = ok == 1 ? kStatusOk : kStatusRejected;
    }
  }
};

std::unique_ptr<Session> prepare(const Work& any) {
  const auto& work = static_cast<const aes::AesWork&>(any);
  const char* const names[] = {"CBC", "CTR", "GCM", "XTS"};
  const std::string name = "AES-" + std::to_string(work.key_bits()) + "-" + names[static_cast<int>(work.mode)];
  std::shared_ptr<EVP_CIPHER> cipher(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), &EVP_CIPHER_free);
  return timed_session(
      [cipher, &work] {
        const bool encrypt = work.direction == aes::Direction::kEncrypt;
        std::shared_ptr<EVP_CIPHER_CTX> ctx(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
        EVP_CipherInit_ex2(ctx.get(), cipher.get(), reinterpret_cast<const unsigned char*>(work.key.data()), nullptr, encrypt,
                           nullptr);
        EVP_CIPHER_CTX_set_padding(ctx.get(), 0);
        return CipherLoop{ctx, work.mode == aes::Mode::kGcm, encrypt, static_cast<int>(work.aad_bytes)};
      },
      {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("aes", "openssl-bare", dpubench::bare::prepare));
}
