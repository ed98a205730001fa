// The common part of the OpenSSL engines.
#pragma once

#include <openssl/crypto.h>
#include <openssl/err.h>

#include <string>

#include "base/error.hpp"

namespace dpubench::openssl {

/// Return "OpenSSL 3.0.19 ...": the version of the loaded library, not of the headers.
inline std::string version() {
  return OpenSSL_version(OPENSSL_VERSION);
}

/// Raise an error if `ok` is false. @throws Error with OpenSSL's own words
inline void require(bool ok, const std::string& what) {
  if (ok) return;
  char text[256] = "no reason given";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error("OpenSSL: " + what + ": " + text);
}

}  // namespace dpubench::openssl
