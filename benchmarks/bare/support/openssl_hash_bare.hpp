// Bare loop of the openssl engines of md5, sha1 and sha256.
#pragma once

#include <openssl/evp.h>

#include "bare.hpp"

namespace dpubench::bare {

struct DigestLoop {
  EVP_MD* md;
  std::shared_ptr<EVP_MD_CTX> ctx{EVP_MD_CTX_new(), &EVP_MD_CTX_free};

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      EVP_DigestInit_ex2(ctx.get(), md, nullptr);
      EVP_DigestUpdate(ctx.get(), b.in[i], b.in_len[i]);
      EVP_DigestFinal_ex(ctx.get(), reinterpret_cast<unsigned char*>(b.out[i]), &b.out_len[i]);
      b.status[i] = kStatusOk;
    }
  }
};

inline std::unique_ptr<Engine> openssl_hash(const std::string& op, const std::string& algorithm) {
  return std::make_unique<Loop>(op, "openssl-bare", [algorithm](const Work&) {
    std::shared_ptr<EVP_MD> md(EVP_MD_fetch(nullptr, algorithm.c_str(), nullptr), &EVP_MD_free);
    return timed_session([md] { return DigestLoop{md.get()}; }, {"chosen by library", "bare", false});
  });
}

}  // namespace dpubench::bare
