// Parts of a URL in one normal spelling, so that another spelling cannot evade a filter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dpubench::packet {

/// Return the text with percent-encoded octets decoded once (RFC 3986, section 2.1). Invalid encodings stay as they are.
std::string percent_decoded(std::string_view text);
/// Return the decoded path without "." and ".." segments (RFC 3986, section 5.2.4) and without doubled slashes.
std::string normal_path(std::string_view path);
/// Change ASCII letters to lowercase.
void lower(std::string& text);

struct Url {
  std::string scheme;      ///< lowercase
  std::string host;        ///< decoded, lowercase, without the dot at its end
  std::uint32_t port = 0;  ///< 0: not given
  std::string path;        ///< normal_path()
  std::string query;       ///< decoded; "+" is a space (WHATWG URL, application/x-www-form-urlencoded)
};

/// Split a URL into its parts. @returns false when `text` is no URL with an authority (RFC 3986, section 3)
bool parse_url(std::string_view text, Url& into);
/// Fill path and query from a request's target in origin form (RFC 9112, section 3.2.1).
void parse_target(std::string_view target, Url& into);

}  // namespace dpubench::packet
