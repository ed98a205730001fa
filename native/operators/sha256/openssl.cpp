// sha256, engine openssl: EVP_Digest with a fetched digest and one context per thread.
// requires: libcrypto >= 3.0

#include <openssl/evp.h>

#include "operators/engine.hpp"
#include "operators/support/openssl.hpp"

namespace dpubench {
namespace {

using Digest = std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

struct Kernel {
  const EVP_MD* digest;
  Context context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      unsigned length = 0;
      const bool ok = EVP_DigestInit_ex2(context.get(), digest, nullptr) == 1 &&
                      EVP_DigestUpdate(context.get(), b.in[i], b.in_len[i]) == 1 &&
                      EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(b.out[i]), &length) == 1;
      b.out_len[i] = length;
      b.status[i] = ok ? kStatusOk : kStatusRejected;
    }
  }
};

class OpenSsl final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"sha256", "openssl", "EVP_Digest", openssl::version()};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    // Fetched once: an implicit fetch per message costs more than a short hash (OpenSSL 3 migration guide).
    auto digest = std::make_shared<Digest>(EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free);
    openssl::require(*digest != nullptr, "EVP_MD_fetch SHA256");
    return kernel_session([digest] { return Kernel{digest->get()}; }, {"chosen by library", "EVP_DigestUpdate SHA256", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::OpenSsl>());
}
