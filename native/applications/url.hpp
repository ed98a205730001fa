// Parts of a URL, and its one spelling among many: for filters, which must not be evaded by writing it otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dpubench::applications {

/// Percent-encoded octets as octets (RFC 3986, section 2.1), once; what is no encoding stays.
std::string percent_decoded(std::string_view text);
/// Path without "." and ".." segments (RFC 3986, section 5.2.4) and without doubled slashes; decoded first.
std::string normal_path(std::string_view path);
/// ASCII letters as small ones.
void lower(std::string& text);

struct Url {
  std::string scheme;      ///< in small letters
  std::string host;        ///< decoded, in small letters, without the dot at its end
  std::uint32_t port = 0;  ///< 0: not given
  std::string path;        ///< normal_path()
  std::string query;       ///< decoded; "+" is a space (WHATWG URL, application/x-www-form-urlencoded)
};

/// @returns false when `text` is no URL with an authority (RFC 3986, section 3)
bool parse_url(std::string_view text, Url& into);
/// Fills path and query from a request's target in origin form (RFC 9112, section 3.2.1).
void parse_target(std::string_view target, Url& into);

}  // namespace dpubench::applications
