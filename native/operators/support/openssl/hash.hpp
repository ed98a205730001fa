// The engine "openssl" of the hash operators.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <utility>

#include "operators/engine.hpp"
#include "operators/support/openssl/openssl.hpp"

namespace dpubench::openssl {

class Hash final : public Engine {
 public:
  /// @param algorithm  OpenSSL's name of the digest: "SHA256"
  Hash(std::string op, std::string algorithm)
      : info_{std::move(op), "openssl", "EVP_Digest", version()}, algorithm_(std::move(algorithm)) {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override {
    return fetch() != nullptr ? "" : "this OpenSSL offers no " + algorithm_ + " (disabled, or FIPS mode)";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    // Fetch once: an implicit fetch per message costs more than a short hash (OpenSSL 3 migration guide).
    const std::shared_ptr<EVP_MD> digest = fetch();
    require(digest != nullptr, "EVP_MD_fetch " + algorithm_);
    return kernel_session([digest] { return Kernel(digest); }, {"chosen by library", "EVP_DigestUpdate " + algorithm_, false});
  }

 private:
  struct Kernel {
    explicit Kernel(std::shared_ptr<EVP_MD> fetched) : digest(std::move(fetched)) {
      require(context != nullptr, "EVP_MD_CTX_new");
    }

    std::shared_ptr<EVP_MD> digest;
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};

    void operator()(Burst& b) noexcept {
      for (std::uint32_t i = 0; i < b.n; ++i) {
        const bool ok = EVP_DigestInit_ex2(context.get(), digest.get(), nullptr) == 1 &&
                        EVP_DigestUpdate(context.get(), b.in[i], b.in_len[i]) == 1 &&
                        EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(b.out[i]), &b.out_len[i]) == 1;
        b.status[i] = ok ? kStatusOk : kStatusRejected;
      }
    }
  };

  [[nodiscard]] std::shared_ptr<EVP_MD> fetch() const {
    EVP_MD* const digest = EVP_MD_fetch(nullptr, algorithm_.c_str(), nullptr);
    if (digest == nullptr) return nullptr;
    return {digest, &EVP_MD_free};
  }

  EngineInfo info_;
  std::string algorithm_;
};

}  // namespace dpubench::openssl
