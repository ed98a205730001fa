// What OpenSSL engines share.
#pragma once

#include <openssl/crypto.h>
#include <openssl/err.h>

#include <string>

#include "base/error.hpp"

namespace dpubench::openssl {

/// "OpenSSL 3.0.19 ...": the library that is loaded, not the headers' version.
inline std::string version() {
  return OpenSSL_version(OPENSSL_VERSION);
}

/// @throws Error with OpenSSL's own words when `ok` is false
inline void require(bool ok, const std::string& what) {
  if (ok) return;
  char text[256] = "no reason given";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error("OpenSSL: " + what + ": " + text);
}

}  // namespace dpubench::openssl
