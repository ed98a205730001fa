// The common part of the OpenSSL engines of ciphers.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/openssl/openssl.hpp"

namespace dpubench::openssl {

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

/// The setup of each thread's context: the fetched cipher (an implicit fetch per message costs more than a short message), key
/// and direction.
struct CipherSetup {
  std::shared_ptr<EVP_CIPHER> cipher;
  std::vector<unsigned char> key;
  bool encrypt = true;
};

/// Return the setup of a cipher. @param name  OpenSSL's name: "AES-128-CBC" @throws Error when this OpenSSL does not have it
inline CipherSetup cipher_setup(const std::string& name, std::span<const std::byte> key, bool encrypt) {
  EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr);
  require(cipher != nullptr, "EVP_CIPHER_fetch " + name);
  const auto* first = reinterpret_cast<const unsigned char*>(key.data());
  return {{cipher, &EVP_CIPHER_free}, {first, first + key.size()}, encrypt};
}

/// Return a thread's context, with its key expanded and padding off. @throws Error
inline CipherContext open(const CipherSetup& setup) {
  CipherContext context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  require(context != nullptr, "EVP_CIPHER_CTX_new");
  require(EVP_CipherInit_ex2(context.get(), setup.cipher.get(), setup.key.data(), nullptr, setup.encrypt ? 1 : 0, nullptr) == 1,
          "EVP_CipherInit_ex2");
  require(EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1, "EVP_CIPHER_CTX_set_padding");
  return context;
}

/// The kernel for whole messages with an IV each and no padding. Without padding, OpenSSL holds nothing back
/// (EVP_EncryptInit(3)), so a message needs no EVP_CipherFinal.
struct CipherKernel {
  CipherContext context;

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      int length = 0;
      const bool ok = EVP_CipherInit_ex2(context.get(), nullptr, nullptr, reinterpret_cast<const unsigned char*>(b.aux[i]), -1,
                                         nullptr) == 1 &&
                      EVP_CipherUpdate(context.get(), reinterpret_cast<unsigned char*>(b.out[i]), &length,
                                       reinterpret_cast<const unsigned char*>(b.in[i]), static_cast<int>(b.in_len[i])) == 1;
      b.out_len[i] = static_cast<std::uint32_t>(length);
      b.status[i] = ok ? kStatusOk : kStatusRejected;
    }
  }
};

}  // namespace dpubench::openssl
