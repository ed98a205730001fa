// aes, engine openssl: EVP_Cipher with a fetched cipher, one context per thread, the key set once and the IV per message.
// requires: libcrypto >= 3.0

#include <openssl/evp.h>

#include "operators/aes/work.hpp"
#include "operators/support/openssl/cipher.hpp"

namespace dpubench::aes {
namespace {

const unsigned char* bytes(const std::byte* p) {
  return reinterpret_cast<const unsigned char*>(p);
}
unsigned char* bytes(std::byte* p) {
  return reinterpret_cast<unsigned char*>(p);
}

template <Direction D>
struct GcmKernel {
  openssl::CipherContext context;
  int aad_bytes;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      b.status[i] = message(b.aux[i], b.in[i], b.in_len[i], b.out[i], b.out_len[i]) ? kStatusOk : kStatusRejected;
    }
  }

  bool message(const std::byte* aux, const std::byte* in, std::uint32_t in_len, std::byte* out, std::uint32_t& out_len) noexcept {
    EVP_CIPHER_CTX* const c = context.get();
    const std::uint32_t text = D == Direction::kEncrypt ? in_len : in_len - static_cast<std::uint32_t>(kTagBytes);
    int length = 0;
    if (EVP_CipherInit_ex2(c, nullptr, nullptr, bytes(aux), -1, nullptr) != 1) return false;
    if (EVP_CipherUpdate(c, nullptr, &length, bytes(aux) + kGcmIvBytes, aad_bytes) != 1) return false;
    if (EVP_CipherUpdate(c, bytes(out), &length, bytes(in), static_cast<int>(text)) != 1) return false;
    if constexpr (D == Direction::kEncrypt) {
      out_len = text + static_cast<std::uint32_t>(kTagBytes);
      return EVP_CipherFinal_ex(c, bytes(out) + text, &length) == 1 &&
             EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, kTagBytes, out + text) == 1;
    } else {
      out_len = text;
      // The control takes void* but only reads (EVP_EncryptInit(3)).
      return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, kTagBytes, const_cast<std::byte*>(in + text)) == 1 &&
             EVP_CipherFinal_ex(c, bytes(out) + text, &length) == 1;
    }
  }
};

class OpenSsl final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"aes", "openssl", "EVP_Cipher, IV (and GCM's additional data and tag) per message",
                                 openssl::version()};
    return info;
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const AesWork&>(any);
    const char* const mode = work.mode == Mode::kCbc   ? "CBC"
                             : work.mode == Mode::kCtr ? "CTR"
                             : work.mode == Mode::kGcm ? "GCM"
                                                       : "XTS";
    const std::string name = "AES-" + std::to_string(work.key_bits()) + "-" + mode;
    const openssl::CipherSetup setup = openssl::cipher_setup(name, work.key, work.direction == Direction::kEncrypt);
    const PathInfo path{"chosen by library", "EVP_CipherUpdate " + name, false};
    if (work.mode != Mode::kGcm) {
      return kernel_session([setup] { return openssl::CipherKernel{openssl::open(setup)}; }, path);
    }
    const int aad = static_cast<int>(work.aad_bytes);
    if (work.direction == Direction::kEncrypt) {
      return kernel_session([setup, aad] { return GcmKernel<Direction::kEncrypt>{openssl::open(setup), aad}; }, path);
    }
    return kernel_session([setup, aad] { return GcmKernel<Direction::kDecrypt>{openssl::open(setup), aad}; }, path);
  }
};

}  // namespace
}  // namespace dpubench::aes

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::aes::OpenSsl>());
}
