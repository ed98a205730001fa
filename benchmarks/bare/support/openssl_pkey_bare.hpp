// Bare loop of the openssl engines of rsa, dsa and ecdsa.
#pragma once

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <cstring>

#include "bare.hpp"
#include "operators/support/signatures/pkey.hpp"

namespace dpubench::bare {

struct PkeyLoop {
  using Operation = PkeyWork::Operation;
  using Bytes = const unsigned char*;

  PkeyLoop(std::shared_ptr<EVP_PKEY> k, EVP_MD* digest, Operation op, PkeyWork::Padding padding, bool messages)
      : key(std::move(k)),
        ctx(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr), &EVP_PKEY_CTX_free),
        md(digest),
        operation(op),
        hashes(messages) {
    if (operation == Operation::kSign) EVP_PKEY_sign_init(ctx.get());
    if (operation == Operation::kVerify) EVP_PKEY_verify_init(ctx.get());
    if (operation == Operation::kEncrypt) EVP_PKEY_encrypt_init(ctx.get());
    if (operation == Operation::kDecrypt) EVP_PKEY_decrypt_init(ctx.get());
    if (padding == PkeyWork::Padding::kOaep) {
      EVP_PKEY_CTX_set_rsa_padding(ctx.get(), RSA_PKCS1_OAEP_PADDING);
      EVP_PKEY_CTX_set_rsa_oaep_md(ctx.get(), md);
      return;
    }
    EVP_PKEY_CTX_set_signature_md(ctx.get(), md);
    if (padding == PkeyWork::Padding::kPss) {
      EVP_PKEY_CTX_set_rsa_padding(ctx.get(), RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx.get(), RSA_PSS_SALTLEN_DIGEST);
    }
  }

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      auto in = reinterpret_cast<Bytes>(b.in[i]);
      std::size_t in_len = b.in_len[i];
      unsigned char digest[EVP_MAX_MD_SIZE];
      if (hashes) {
        EVP_DigestInit_ex2(hash.get(), md, nullptr);
        EVP_DigestUpdate(hash.get(), in, in_len);
        unsigned int length = 0;
        EVP_DigestFinal_ex(hash.get(), digest, &length);
        in = digest;
        in_len = length;
      }
      auto* out = reinterpret_cast<unsigned char*>(b.out[i]);
      std::size_t out_len = operation == Operation::kVerify ? 0 : b.out_room[i];
      int ok = 0;
      if (operation == Operation::kSign) ok = EVP_PKEY_sign(ctx.get(), out, &out_len, in, in_len);
      if (operation == Operation::kVerify) {
        std::uint32_t length = 0;
        std::memcpy(&length, b.aux[i], 4);
        ok = EVP_PKEY_verify(ctx.get(), reinterpret_cast<Bytes>(b.aux[i]) + 4, length, in, in_len);
      }
      if (operation == Operation::kEncrypt) ok = EVP_PKEY_encrypt(ctx.get(), out, &out_len, in, in_len);
      if (operation == Operation::kDecrypt) ok = EVP_PKEY_decrypt(ctx.get(), out, &out_len, in, in_len);
      b.out_len[i] = static_cast<std::uint32_t>(out_len);
      b.status[i] = ok == 1 ? kStatusOk : kStatusRejected;
    }
  }

  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<EVP_PKEY_CTX> ctx;
  EVP_MD* md;
  std::shared_ptr<EVP_MD_CTX> hash{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  Operation operation;
  bool hashes;
};

inline std::unique_ptr<Engine> openssl_pkey(const std::string& op) {
  return std::make_unique<Loop>(op, "openssl-bare", [](const Work& base) {
    const auto& work = static_cast<const PkeyWork&>(base);
    auto at = reinterpret_cast<const unsigned char*>(work.key.data());
    const auto length = static_cast<long>(work.key.size());
    // The known answers of rsa bring a public key, everything else a private one.
    EVP_PKEY* read =
        work.key_is_public ? d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, length) : d2i_AutoPrivateKey(nullptr, &at, length);
    if (read == nullptr) throw Error("the key cannot be read");
    std::shared_ptr<EVP_PKEY> key(read, &EVP_PKEY_free);
    std::shared_ptr<EVP_MD> md(EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free);
    const auto make = [key, md, operation = work.operation, padding = work.padding, hashes = work.hashes] {
      return PkeyLoop(key, md.get(), operation, padding, hashes);
    };
    return timed_session(make, {"chosen by library", "bare", false});
  });
}

}  // namespace dpubench::bare
