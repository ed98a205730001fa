// The engine "openssl" of the public-key operators.
#pragma once

#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <utility>

#include "operators/engine.hpp"
#include "operators/support/openssl/openssl.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench::openssl {

class Pkey final : public Engine {
 public:
  explicit Pkey(std::string op)
      : info_{std::move(op), "openssl", "EVP_PKEY operations on a context set up once per thread", version()} {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& base) const override {
    const auto& work = static_cast<const PkeyWork&>(base);
    const int type = work.key_type == "RSA" ? EVP_PKEY_RSA : work.key_type == "DSA" ? EVP_PKEY_DSA : EVP_PKEY_EC;
    const auto* at = reinterpret_cast<const unsigned char*>(work.key.data());
    const auto length = static_cast<long>(work.key.size());
    EVP_PKEY* const key =
        work.key_is_public ? d2i_PublicKey(type, nullptr, &at, length) : d2i_PrivateKey(type, nullptr, &at, length);
    require(key != nullptr, "reading the " + work.key_type + " key");
    const std::shared_ptr<EVP_PKEY> shared(key, &EVP_PKEY_free);
    const std::shared_ptr<EVP_MD> digest(EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free);
    require(digest != nullptr, "EVP_MD_fetch SHA256");
    static constexpr const char* kCalls[] = {"EVP_PKEY_sign", "EVP_PKEY_verify", "EVP_PKEY_encrypt", "EVP_PKEY_decrypt"};
    const std::string call =
        (work.hashes ? "EVP_DigestUpdate SHA256, " : "") + std::string(kCalls[static_cast<int>(work.operation)]);
    return kernel_session([shared, digest, &work] { return Kernel(shared, digest, work); }, {"chosen by library", call, false});
  }

 private:
  using Operation = PkeyWork::Operation;

  class Kernel {
   public:
    Kernel(std::shared_ptr<EVP_PKEY> key, std::shared_ptr<EVP_MD> digest, const PkeyWork& work)
        : key_(std::move(key)), digest_(std::move(digest)), operation_(work.operation), hashes_(work.hashes) {
      require(context_of(work) != nullptr && hash_ != nullptr, "EVP_PKEY_CTX_new");
      EVP_PKEY_CTX* const c = context_.get();
      int (*const init)(EVP_PKEY_CTX*) = operation_ == Operation::kSign      ? EVP_PKEY_sign_init
                                         : operation_ == Operation::kVerify  ? EVP_PKEY_verify_init
                                         : operation_ == Operation::kEncrypt ? EVP_PKEY_encrypt_init
                                                                             : EVP_PKEY_decrypt_init;
      require(init(c) == 1, "EVP_PKEY_*_init");
      if (work.padding == PkeyWork::Padding::kOaep) {
        require(EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_OAEP_PADDING) == 1, "OAEP");
        require(EVP_PKEY_CTX_set_rsa_oaep_md(c, digest_.get()) == 1, "OAEP with SHA-256");
        require(EVP_PKEY_CTX_set_rsa_mgf1_md(c, digest_.get()) == 1, "MGF1 with SHA-256");
        return;
      }
      require(EVP_PKEY_CTX_set_signature_md(c, digest_.get()) == 1, "signature with SHA-256");
      if (work.padding == PkeyWork::Padding::kPss) {
        require(EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_PSS_PADDING) == 1, "PSS");
        require(EVP_PKEY_CTX_set_rsa_pss_saltlen(c, RSA_PSS_SALTLEN_DIGEST) == 1, "PSS salt length");
      } else if (work.padding == PkeyWork::Padding::kPkcs1) {
        require(EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_PADDING) == 1, "PKCS #1 v1.5");
      }
    }

    void operator()(Burst& b) noexcept {
      for (std::uint32_t i = 0; i < b.n; ++i) {
        unsigned char digest[kDigestBytes];
        const auto* in = reinterpret_cast<const unsigned char*>(b.in[i]);
        std::size_t in_len = b.in_len[i];
        if (hashes_) {
          EVP_DigestInit_ex2(hash_.get(), digest_.get(), nullptr);
          EVP_DigestUpdate(hash_.get(), in, in_len);
          EVP_DigestFinal_ex(hash_.get(), digest, nullptr);
          in = digest;
          in_len = sizeof digest;
        }
        auto* const out = reinterpret_cast<unsigned char*>(b.out[i]);
        std::size_t out_len = b.out_room[i];
        int done = 0;
        switch (operation_) {
          case Operation::kSign:
            done = EVP_PKEY_sign(context_.get(), out, &out_len, in, in_len);
            break;
          case Operation::kVerify: {
            std::uint32_t length = 0;
            std::memcpy(&length, b.aux[i], sizeof length);
            done = EVP_PKEY_verify(context_.get(), reinterpret_cast<const unsigned char*>(b.aux[i]) + sizeof length, length, in,
                                   in_len);
            out_len = 0;
            break;
          }
          case Operation::kEncrypt:
            done = EVP_PKEY_encrypt(context_.get(), out, &out_len, in, in_len);
            break;
          case Operation::kDecrypt:
            done = EVP_PKEY_decrypt(context_.get(), out, &out_len, in, in_len);
            break;
        }
        if (done != 1) ERR_clear_error();  // else the thread's queue of errors would keep them
        b.out_len[i] = done == 1 ? static_cast<std::uint32_t>(out_len) : 0;
        b.status[i] = done == 1 ? kStatusOk : kStatusRejected;
      }
    }

   private:
    EVP_PKEY_CTX* context_of(const PkeyWork&) {
      context_.reset(EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr));
      return context_.get();
    }
    std::shared_ptr<EVP_PKEY> key_;
    std::shared_ptr<EVP_MD> digest_;
    Operation operation_;
    bool hashes_;
    std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context_{nullptr, &EVP_PKEY_CTX_free};
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  };

  EngineInfo info_;
};

}  // namespace dpubench::openssl
