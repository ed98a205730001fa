// des3, engine openssl: EVP_Cipher with a fetched cipher, one context per thread, the key set once and the IV per message.
// requires: libcrypto >= 3.0

#include "operators/des3/work.hpp"
#include "operators/support/openssl/cipher.hpp"

namespace dpubench::des3 {
namespace {

class OpenSsl final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"des3", "openssl", "EVP_Cipher, IV per message", openssl::version()};
    return info;
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const Des3Work&>(any);
    const openssl::CipherSetup setup = openssl::cipher_setup("DES-EDE3-CBC", work.key, work.encrypt);
    return kernel_session([setup] { return openssl::CipherKernel{openssl::open(setup)}; },
                          {"generic", "EVP_CipherUpdate DES-EDE3-CBC", false});
  }
};

}  // namespace
}  // namespace dpubench::des3

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::des3::OpenSsl>());
}
